import type { Clock } from "../lib/clock.ts";
import { AbortedError, type ErrorDetails, type RollcallError, TimeoutError } from "../wire/errors.ts";

/** What ends a call from outside: its time, the signal of the app, or the end of the client. */
export interface Stop {
  readonly signal: AbortSignal;
  /** The error of the call, once the signal is aborted. */
  create(operation: string, details: ErrorDetails): RollcallError;
  dispose(): void;
}

export function createStop(
  totalMs: number,
  bySignal: AbortSignal | undefined,
  closing: AbortSignal,
  clock: Clock,
): Stop {
  const stop = new AbortController();
  const abort = () => stop.abort();
  const cancelTimer = totalMs === Number.POSITIVE_INFINITY ? abort : clock.after(totalMs, abort);
  const signals = bySignal === undefined ? [closing] : [bySignal, closing];
  for (const signal of signals) {
    signal.addEventListener("abort", abort);
    if (signal.aborted) abort();
  }
  return {
    signal: stop.signal,
    create(operation, details) {
      if (bySignal?.aborted) {
        const cause = bySignal.reason;
        return new AbortedError(`${operation}: AbortError: the app has aborted the call`, { ...details, cause });
      }
      if (closing.aborted) return new AbortedError(`${operation}: AbortError: the client is closed`, details);
      return new TimeoutError(`${operation}: TimeoutError: the time of the call is up`, "total", details);
    },
    dispose() {
      if (totalMs !== Number.POSITIVE_INFINITY) cancelTimer();
      for (const signal of signals) signal.removeEventListener("abort", abort);
    },
  };
}
