import type { Clock } from "../lib/clock.ts";
import { unlessAborted, whenAborted } from "../lib/wait.ts";
import { AbortedError, type ErrorDetails, TimeoutError } from "../wire/errors.ts";

/** What ends a call from outside. */
export interface Limits {
  /** Its time with all repeats; may be infinite. */
  readonly totalMs: number;
  /** The signal of the app. */
  readonly signal: AbortSignal | undefined;
  /** The end of the client. */
  readonly closing: AbortSignal;
  readonly clock: Clock;
}

/**
 * Runs work until it ends or has to stop.
 *
 * @param describe the details of the error of a call that had to stop
 */
export async function runWithin<T>(
  { totalMs, signal, closing, clock }: Limits,
  describe: () => ErrorDetails,
  work: (stop: AbortSignal) => Promise<T>,
): Promise<T> {
  const stop = new AbortController();
  const abort = () => stop.abort();
  const cancelTimer = Number.isFinite(totalMs) ? clock.after(totalMs, abort) : abort;
  const release = whenAborted([signal, closing], abort);
  try {
    return await unlessAborted(work(stop.signal), stop.signal);
  } catch (error) {
    if (error !== stop.signal.reason) throw error;
    if (signal?.aborted)
      throw new AbortedError("the app has aborted the call", { ...describe(), cause: signal.reason });
    if (closing.aborted) throw new AbortedError("the client is closed", describe());
    throw new TimeoutError("the time of the call is up", "total", describe());
  } finally {
    cancelTimer();
    release();
  }
}
