import type { Clock } from "../lib/clock.ts";
import { Stop, stopped, unlessStopped } from "../lib/stop.ts";
import { whenAborted } from "../lib/wait.ts";
import { AbortedError, type ErrorDetails, TimeoutError } from "../wire/errors.ts";

/** What ends a call from outside. */
export interface Limits {
  /** Its time with all repeats; may be infinite. */
  readonly totalMs: number;
  /** The signal of the app. */
  readonly signal: AbortSignal | undefined;
  /** The end of the client. */
  readonly closing: Stop;
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
  work: (stop: Stop) => Promise<T>,
): Promise<T> {
  const stop = new Stop();
  const end = () => stop.stop();
  const cancelTimer = totalMs < Number.POSITIVE_INFINITY ? clock.after(totalMs, end) : end;
  const release = whenAborted(signal, end);
  closing.add(end);
  try {
    return await unlessStopped(work(stop), stop);
  } catch (error) {
    if (error !== stopped) throw error;
    if (signal?.aborted)
      throw new AbortedError("the app has aborted the call", { ...describe(), cause: signal.reason });
    if (closing.isStopped) throw new AbortedError("the client is closed", describe());
    throw new TimeoutError("the time of the call is up", "total", describe());
  } finally {
    cancelTimer();
    release();
    closing.remove(end);
  }
}
