import type { Clock } from "../lib/clock.ts";
import { whenAborted } from "../lib/wait.ts";
import { AbortedError, type ErrorDetails, RollcallError, TimeoutError } from "../wire/errors.ts";

/** Work that a limit may end. */
export interface Run {
  /** The reason why it has to end; its caller has this error already. */
  error?: RollcallError;
  /** Ends what the work waits for: each wait sets its own. */
  wake(): void;
  /** @throws the error with which the work has to end */
  check(): void;
}

/** Ends the work of a client at a time, by the signal of the app, and when the client is closed. */
export interface Limits {
  /**
   * Runs work until it ends, or rejects at once when it has to.
   *
   * @param limit the name of the limit in its error @param describe the details of the error of work that had to end
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
  /** Its index among the pending ones. */
  place: number;
  /** Ends it with AbortedError. */
  abort(text: string, cause?: unknown): void;
}

export function createLimits(clock: Clock): Limits {
  // Not a Set: what V8 leaves behind when a Set grows and shrinks keeps runs that have ended until a full collection.
  const pending: PendingRun[] = [];
  let isClosed = false;

  return {
    run: (ms, limit, signal, describe, work) =>
      new Promise((resolve, reject) => {
        const origin = new Error(); // its text is made when it is read, which costs more than a request
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
