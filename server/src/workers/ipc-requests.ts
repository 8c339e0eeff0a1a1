import type { Worker } from "node:cluster";
import type { ToSupervisor, ToWorker } from "./messages.ts";

/** The supervisor's side of IPC requests: sends a question to all workers and collects their answers. */
export interface IpcRequests {
  /**
   * @returns the answers that arrive within `timeoutMs`, and for each silent worker the value that `FallbackAnswers` defines; a
   * worker that does not know the question has none
   */
  ask(question: string, timeoutMs: number): Promise<readonly unknown[]>;
  /** Handles a message of a worker; ignores other messages. */
  take(message: ToSupervisor, from: Worker): Promise<void>;
  /** Stops waiting for the answers of a worker that has ended. */
  forget(worker: Worker): void;
}

/**
 * For each question, the value to report for a worker that does not answer: computed from its last answer and from the
 * value kept for the workers that ended before it. Questions without an entry report nothing.
 */
export type FallbackAnswers = Readonly<Record<string, (kept: unknown, last: unknown) => unknown>>;

interface Asked {
  readonly question: string;
  readonly answers: unknown[];
  /** The workers that may still answer. */
  readonly left: Set<Worker>;
  /** The previous answers of the workers that have not answered yet. */
  readonly before: Map<Worker, unknown>;
  end(): void;
}

/** @param workers returns the current workers */
export function createIpcRequests(workers: () => readonly Worker[], fallbacks: FallbackAnswers = {}): IpcRequests {
  const open = new Map<number, Asked>();
  /** By question. */
  const last = new Map<string, Map<Worker, unknown>>(Object.keys(fallbacks).map((question) => [question, new Map()]));
  const kept = new Map<string, unknown>();
  let count = 0;

  function ask(question: string, timeoutMs: number): Promise<readonly unknown[]> {
    const asked = workers();
    count += 1;
    const id = count;
    return new Promise((resolve) => {
      const answers: unknown[] = [];
      const before = new Map(last.get(question));
      // A snapshot, so that a worker that answers and then ends is not counted twice.
      const gone = kept.has(question) ? [kept.get(question)] : [];
      function end(): void {
        clearTimeout(timer);
        open.delete(id);
        const silent = [...before.values()].map((answer) => fallbacks[question]?.(undefined, answer));
        resolve([...answers, ...silent, ...gone]);
      }
      const timer = setTimeout(end, timeoutMs);
      open.set(id, { question, answers, left: new Set(asked), before, end });
      for (const worker of asked) sendToWorker(worker, { kind: "question", id, question });
      if (asked.length === 0) end();
    });
  }

  function stopWaiting(asked: Asked, worker: Worker): void {
    if (asked.left.delete(worker) && asked.left.size === 0) asked.end();
  }

  return {
    ask,
    async take(message, from) {
      if (message.kind === "answer") {
        const asked = open.get(message.id);
        if (asked === undefined) return; // too late
        asked.before.delete(from);
        if (message.answer !== null) {
          asked.answers.push(message.answer);
          last.get(asked.question)?.set(from, message.answer);
        }
        stopWaiting(asked, from);
      } else if (message.kind === "ask") {
        const answers = await ask(message.question, message.timeoutMs);
        sendToWorker(from, { kind: "answers", id: message.id, answers });
      }
    },
    forget(worker) {
      for (const [question, answers] of last) {
        const answer = answers.get(worker);
        if (answers.delete(worker)) kept.set(question, fallbacks[question]?.(kept.get(question), answer));
      }
      for (const asked of [...open.values()]) stopWaiting(asked, worker);
    },
  };
}

/** Sends a message. A worker that is disconnecting does not need it. */
export function sendToWorker(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message, () => {});
}
