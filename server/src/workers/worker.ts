import { type ToSupervisor, type ToWorker, workerVariable } from "./messages.ts";

/** The number of this process among the workers of its supervisor, from 1; undefined where it serves alone. */
export const workerNumber: number | undefined =
  process.send === undefined ? undefined : Number(process.env[workerVariable]) || undefined;

/** How a worker talks to its supervisor. Without one it says nothing, and nothing is heard. */
export function tellSupervisor(message: ToSupervisor): void {
  // A supervisor that is gone takes its workers along: nobody has to hear of the failure.
  if (workerNumber !== undefined) process.send?.(message, undefined, undefined, () => {});
}

export function onSupervisor<Kind extends ToWorker["kind"]>(
  kind: Kind,
  listener: (message: Extract<ToWorker, { kind: Kind }>) => void,
): void {
  if (workerNumber === undefined) return;
  process.on("message", (message: ToWorker) => {
    // The condition says which of them it is; the compiler cannot see that through the parameter.
    if (message.kind === kind) listener(message as Extract<ToWorker, { kind: Kind }>);
  });
}
