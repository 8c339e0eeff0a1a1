import { workerNumber } from "../config/worker-number.ts";

/** Sends a message to the supervisor; does nothing in a process without one. */
export function sendToSupervisor(message: ToSupervisor): void {
  // Workers exit with the supervisor, so a failure to send can be ignored.
  if (workerNumber !== undefined) process.send?.(message, undefined, undefined, () => {});
}

export function onSupervisorMessage<Kind extends ToWorker["kind"]>(
  kind: Kind,
  listener: (message: Extract<ToWorker, { kind: Kind }>) => void,
): void {
  if (workerNumber === undefined) return;
  process.on("message", (message: ToWorker) => {
    // The check narrows the message, but TypeScript cannot infer that from the type parameter.
    if (message.kind === kind) listener(message as Extract<ToWorker, { kind: Kind }>);
  });
}

/** The messages from the supervisor to a worker. */
export type ToWorker =
  /** Refuse new requests, finish the requests in flight, and exit. */
  | { readonly kind: "stop" }
  | { readonly kind: "question"; readonly id: number; readonly question: string }
  /** The answers to a question of this worker. */
  | { readonly kind: "answers"; readonly id: number; readonly answers: readonly unknown[] };

/** The messages from a worker to the supervisor. */
export type ToSupervisor =
  | { readonly kind: "listening" }
  | { readonly kind: "ask"; readonly id: number; readonly question: string; readonly timeoutMs: number }
  | { readonly kind: "answer"; readonly id: number; readonly answer: unknown };
