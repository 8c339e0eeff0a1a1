import { workerNumber } from "../config/worker-number.ts";
import type { ToSupervisor, ToWorker } from "./messages.ts";

/** Sends a message to the supervisor; does nothing in a process without one. */
export function sendToSupervisor(message: ToSupervisor): void {
  // A supervisor that exits takes its workers along, so a failure to send can be ignored.
  if (workerNumber !== undefined) process.send?.(message, undefined, undefined, () => {});
}

export function onSupervisorMessage<Kind extends ToWorker["kind"]>(
  kind: Kind,
  listener: (message: Extract<ToWorker, { kind: Kind }>) => void,
): void {
  if (workerNumber === undefined) return;
  process.on("message", (message: ToWorker) => {
    // The check narrows the message; TypeScript cannot infer that from the type parameter.
    if (message.kind === kind) listener(message as Extract<ToWorker, { kind: Kind }>);
  });
}
