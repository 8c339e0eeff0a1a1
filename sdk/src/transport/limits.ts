import type { Clock } from "../lib/clock.ts";
import { whenAborted } from "../lib/wait.ts";
import { AbortedError, type ErrorDetails, RollcallError, TimeoutError } from "../wire/errors.ts";

/** Work that can be aborted. */
export interface Run {
  /** The reason for the abort, with which the caller's promise is already rejected. */
  error?: RollcallError;
  /** Cancels the current wait; each wait sets its own function. */
  wake(): void;
  /** @throws the reason, if the work was aborted */
  check(): void;
}

/** Aborts the work of a client after a time-out, by an AbortSignal, or when the client is closed. */
export interface Limits {
  /**
   * Runs work, and rejects immediately when it is aborted.
   *
   * @param ms the time-out in milliseconds
   * @param limit the name of the time-out in its error
   * @param describe the details of the error
   */
  run<T>(
    ms: number,
    limit: TimeoutError["limit"],
    signal: AbortSignal | undefined,
    describe: () => ErrorDetails,
    work: (run: Run) => Promise<T>,
  ): Promise<T>;
  wait(ms: number, run: Run): Promise<void>;
  close(): void;
}

interface PendingRun extends Run {
  /** The index in `pending`. */
  place: number;
  /** Rejects the run with AbortedError. */
  abort(text: string, cause?: unknown): void;
}

export function createLimits(clock: Clock): Limits {
  // Not a Set: when a Set grows and shrinks, V8 retains finished runs until a full garbage collection.
  const pending: PendingRun[] = [];
  let isClosed = false;

  return {
    run: (ms, limit, signal, describe, work) =>
      new Promise((resolve, reject) => {
        const origin = new Error(); // V8 formats the stack only when it is read, which costs more than a request
        let cancel = () => {};
        let release = () => {};
        const end = () => {
          cancel();
          release();
          const last = pending.at(-1);
          if (pending[run.place] !== run || !last) return;
          pending[run.place] = last;
          last.place = run.place;
          pending.pop();
        };
        const fail = (error: unknown) => {
          end();
          reject(withStack(error, origin));
        };
        const stop = (error: RollcallError) => {
          run.error ??= error;
          fail(error);
          run.wake();
        };
        const run: PendingRun = {
          place: pending.length,
          wake() {},
          check() {
            if (run.error) throw run.error;
          },
          abort: (text, cause) => stop(new AbortedError(text, { ...describe(), isRetryable: false, cause })),
        };
        pending.push(run);
        if (ms < Number.POSITIVE_INFINITY) cancel = clock.after(ms, () => stop(timeoutOf(limit, describe())));
        if (signal) release = whenAborted(signal, () => run.abort("the app has aborted the call", signal.reason));
        if (isClosed) run.abort("the client is closed");
        if (run.error) return;
        work(run).then((result) => {
          end();
          resolve(result);
        }, fail);
      }),
    async wait(ms, run) {
      await new Promise<void>((resolve) => {
        const cancel = clock.after(ms, resolve);
        run.wake = () => {
          cancel();
          resolve();
        };
      });
      run.check();
    },
    close() {
      isClosed = true;
      for (const run of [...pending]) run.abort("the client is closed");
    },
  };
}

export function timeoutOf(limit: TimeoutError["limit"], details: ErrorDetails): TimeoutError {
  return new TimeoutError(`the time limit "${limit}" has passed`, limit, details);
}

/** Shows in an error where the call was made, rather than where its answer was read. */
export function withStack(error: unknown, { stack = "" }: Error): unknown {
  const frames = stack.indexOf("\n");
  if (error instanceof RollcallError && frames >= 0)
    error.stack = `${error.name}: ${error.message}${stack.slice(frames)}`;
  return error;
}
