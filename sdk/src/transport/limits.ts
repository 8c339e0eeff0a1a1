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

export function createLimits(clock: Clock): Limits {
  const closing = new Set<() => void>();
  let isClosed = false;

  return {
    run: (ms, limit, signal, describe, work) =>
      new Promise((resolve, reject) => {
        const origin = new Error(); // its text is made when it is read, which costs more than a request
        const run: Run = {
          wake() {},
          check() {
            if (run.error) throw run.error;
          },
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
        const abort = (text: string, cause?: unknown) =>
          stop(new AbortedError(text, { ...describe(), isRetryable: false, cause }));
        const onClose = () => abort("the client is closed");
        const cancel =
          ms < Number.POSITIVE_INFINITY ? clock.after(ms, () => stop(timeoutOf(limit, describe()))) : () => {};
        let release = () => {};
        const end = () => {
          cancel();
          release();
          closing.delete(onClose);
        };
        release = whenAborted(signal, () => abort("the app has aborted the call", signal?.reason));
        if (isClosed) onClose();
        if (run.error) return;
        closing.add(onClose);
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
      for (const stop of closing) stop();
    },
  };
}

export function timeoutOf(limit: TimeoutError["limit"], details: ErrorDetails): TimeoutError {
  return new TimeoutError(`the time limit "${limit}" has passed`, limit, details);
}

/** Shows in an error where the call was made, rather than where its answer was read. */
function withStack(error: unknown, { stack = "" }: Error): unknown {
  const frames = stack.indexOf("\n");
  if (error instanceof RollcallError && frames >= 0)
    error.stack = `${error.name}: ${error.message}${stack.slice(frames)}`;
  return error;
}
