import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "../config/log.ts";
import { runInCall } from "../lib/current-call.ts";

/** Runs work that continues after the response, in bounded steps that can be resumed later. */
export interface Background {
  /**
   * Starts the work when the previous writes are on disk.
   *
   * @param work must stop after its current step when the signal is aborted; its errors are logged
   */
  run(name: string, work: (signal: AbortSignal) => Promise<unknown>): void;
  /** The number of running tasks. */
  readonly runningCount: number;
  /** Starts no further work, and resolves when the current steps are done, or after `graceMs`. */
  stop(graceMs: number): Promise<void>;
}

/** @param afterwards runs an effect when the previous writes are on disk (see `Database`) */
export function createBackground(log: Log, afterwards: (effect: () => void) => void): Background {
  const stopping = new AbortController();
  const running = new Set<Promise<unknown>>();

  function begin(name: string, work: (signal: AbortSignal) => Promise<unknown>): void {
    if (stopping.signal.aborted) return;
    const done = runInCall({ work: name }, () => work(stopping.signal))
      .catch((err) => {
        if (!stopping.signal.aborted) log.warn({ err, work: name }, "background work did not finish");
      })
      .finally(() => running.delete(done));
    running.add(done);
  }

  return {
    get runningCount() {
      return running.size;
    },
    run: (name, work) => afterwards(() => begin(name, work)),
    async stop(graceMs) {
      stopping.abort();
      await Promise.race([Promise.all(running), sleep(graceMs, undefined, { ref: false })]);
    },
  };
}
