import type { Clock } from "./clock.ts";
import { type Stop, unlessStopped } from "./stop.ts";

/** Calls back as soon as the signal is aborted. Returns what stops the watch. */
export function whenAborted(signal: AbortSignal | undefined, abort: () => void): () => void {
  signal?.addEventListener("abort", abort);
  if (signal?.aborted) abort();
  return () => signal?.removeEventListener("abort", abort);
}

/** Waits, or rejects with `stopped` as soon as it has to stop. */
export async function sleep(ms: number, stop: Stop, clock: Clock): Promise<void> {
  let cancel = () => {};
  const passed = new Promise<void>((resolve) => {
    cancel = clock.after(ms, resolve);
  });
  await unlessStopped(passed, stop).finally(cancel);
}
