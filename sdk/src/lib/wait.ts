import type { Clock } from "./clock.ts";

/** Settles like the work, or rejects with the signal's reason as soon as it is aborted. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort);
    work.then(resolve, reject).then(() => signal.removeEventListener("abort", abort));
    if (signal.aborted) abort();
  });
}

/** Waits, or rejects with the signal's reason as soon as it is aborted. */
export async function sleep(ms: number, signal: AbortSignal, clock: Clock): Promise<void> {
  let cancel = () => {};
  const passed = new Promise<void>((resolve) => {
    cancel = clock.after(ms, resolve);
  });
  await unlessAborted(passed, signal).finally(cancel);
}
