import type { Worker } from "node:cluster";
import type { ToSupervisor, ToWorker } from "./messages.ts";

/** The supervisor's part in questions: it hands them to all workers, and gathers what they answer. */
export interface Questions {
  /** @returns the answers that came within `timeoutMs`, and what counts of who gave none; one that a worker does not know is
   *   not among them */
  ask(question: string, timeoutMs: number): Promise<readonly unknown[]>;
  /** Takes what a worker says; what is no question and no answer is left alone. */
  take(message: ToSupervisor, from: Worker): Promise<void>;
  /** It has ended: nobody waits for its answers. */
  forget(worker: Worker): void;
}

/**
 * What counts of a worker that does not answer, by the question: its last answer, or what that comes to together with what
 * counts of those that have ended before it. Where there is none, nothing does.
 */
export type Keepers = Readonly<Record<string, (kept: unknown, last: unknown) => unknown>>;

interface Asked {
  readonly question: string;
  readonly answers: unknown[];
  /** Those that may answer still. */
  readonly left: Set<Worker>;
  /** What they answered before, of those that have not answered. */
  readonly before: Map<Worker, unknown>;
  end(): void;
}

/** @param workers those that are there now */
export function createQuestions(workers: () => readonly Worker[], keepers: Keepers = {}): Questions {
  const open = new Map<number, Asked>();
  /** By the question. */
  const last = new Map<string, Map<Worker, unknown>>(Object.keys(keepers).map((question) => [question, new Map()]));
  const kept = new Map<string, unknown>();
  let count = 0;

  function ask(question: string, timeoutMs: number): Promise<readonly unknown[]> {
    const asked = workers();
    count += 1;
    const id = count;
    return new Promise((resolve) => {
      const answers: unknown[] = [];
      const before = new Map(last.get(question));
      // As it is now: who answers and ends then must not count twice.
      const gone = kept.has(question) ? [kept.get(question)] : [];
      function end(): void {
        clearTimeout(timer);
        open.delete(id);
        const silent = [...before.values()].map((answer) => keepers[question]?.(undefined, answer));
        resolve([...answers, ...silent, ...gone]);
      }
      const timer = setTimeout(end, timeoutMs);
      open.set(id, { question, answers, left: new Set(asked), before, end });
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
        asked.before.delete(from);
        if (message.answer !== null) {
          asked.answers.push(message.answer);
          last.get(asked.question)?.set(from, message.answer);
        }
        leave(asked, from);
      } else if (message.kind === "ask") {
        const answers = await ask(message.question, message.timeoutMs);
        tell(from, { kind: "answers", id: message.id, answers });
      }
    },
    forget(worker) {
      for (const [question, answers] of last) {
        const answer = answers.get(worker);
        if (answers.delete(worker)) kept.set(question, keepers[question]?.(kept.get(question), answer));
      }
      for (const asked of [...open.values()]) leave(asked, worker);
    },
  };
}

/** One that is on its way out hears nothing any more, and needs not to. */
export function tell(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message, () => {});
}
