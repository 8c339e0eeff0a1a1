import type { Awaitable } from "./awaitable.ts";
import type { Clock } from "./clock.ts";

/** Calls back as soon as the signal is aborted. Returns a function that removes the listener. */
export function whenAborted(signal: AbortSignal | undefined, abort: () => void): () => void {
  signal?.addEventListener("abort", abort);
  if (signal?.aborted) abort();
  return () => signal?.removeEventListener("abort", abort);
}

/** The result of the work, or of `late` when the work takes longer. */
export async function within<T>(ms: number, clock: Clock, work: () => Awaitable<T>, late: () => T): Promise<T> {
  let cancel = () => {};
  const passed = new Promise<void>((resolve) => {
    cancel = clock.after(ms, resolve);
  });
  try {
    return await Promise.race([work(), passed.then(late)]);
  } finally {
    cancel();
  }
}
