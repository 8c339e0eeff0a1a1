import type { Worker } from "node:cluster";
import type { ToSupervisor, ToWorker } from "./messages.ts";

/** The supervisor's part in questions: it hands them to all workers, and gathers what they answer. */
export interface Questions {
  /** @returns the answers that came within `timeoutMs`; one that a worker does not know is not among them */
  ask(question: string, timeoutMs: number): Promise<readonly unknown[]>;
  /** Takes what a worker says; what is no question and no answer is left alone. */
  take(message: ToSupervisor, from: Worker): Promise<void>;
  /** It has ended: nobody waits for its answers. */
  forget(worker: Worker): void;
}

interface Asked {
  readonly answers: unknown[];
  /** Those that have not answered. */
  readonly left: Set<Worker>;
  end(): void;
}

/** @param workers those that are there now */
export function createQuestions(workers: () => readonly Worker[]): Questions {
  const open = new Map<number, Asked>();
  let count = 0;

  function ask(question: string, timeoutMs: number): Promise<readonly unknown[]> {
    const asked = workers();
    count += 1;
    const id = count;
    return new Promise((resolve) => {
      const answers: unknown[] = [];
      function end(): void {
        clearTimeout(timer);
        open.delete(id);
        resolve(answers);
      }
      const timer = setTimeout(end, timeoutMs);
      open.set(id, { answers, left: new Set(asked), end });
      for (const worker of asked) tell(worker, { kind: "question", id, question });
      if (asked.length === 0) end();
    });
  }

  function leave(asked: Asked, worker: Worker): void {
    if (asked.left.delete(worker) && asked.left.size === 0) asked.end();
  }

  return {
    ask,
    async take(message, from) {
      if (message.kind === "answer") {
        const asked = open.get(message.id);
        if (asked === undefined) return; // it comes too late
        if (message.answer !== null) asked.answers.push(message.answer);
        leave(asked, from);
      } else if (message.kind === "ask") {
        const answers = await ask(message.question, message.timeoutMs);
        tell(from, { kind: "answers", id: message.id, answers });
      }
    },
    forget(worker) {
      for (const asked of [...open.values()]) leave(asked, worker);
    },
  };
}

/** One that is on its way out hears nothing any more, and needs not to. */
export function tell(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message, () => {});
}
