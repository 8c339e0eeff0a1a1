import type { Clock } from "./clock.ts";

/** Calls back as soon as one of the signals is aborted. Returns what stops the watch. */
export function whenAborted(signals: readonly (AbortSignal | undefined)[], abort: () => void): () => void {
  for (const signal of signals) {
    signal?.addEventListener("abort", abort);
    if (signal?.aborted) abort();
  }
  return () => {
    for (const signal of signals) signal?.removeEventListener("abort", abort);
  };
}

/** Settles like the work, or rejects with the signal's reason as soon as it is aborted. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const release = whenAborted([signal], () => reject(signal.reason));
    work.then(resolve, reject).then(release);
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
