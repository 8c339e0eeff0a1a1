import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "../config/log.ts";
import { runInCall } from "../lib/current-call.ts";

export interface Job {
  /** Names the work in the log. */
  readonly name: string;
  readonly everyMs: number;
  /** Runs immediately, too, and not only after the first interval. */
  readonly isImmediate?: boolean;
  /** The log message of the first failure in a row; a failed run is repeated after the interval. */
  readonly failure: string;
  /** Must stop after its current step when the signal is aborted. */
  run(signal: AbortSignal): Promise<unknown>;
}

/** Runs a job at its interval, one run at a time. */
export function startJob(
  { name, everyMs, isImmediate = false, failure, run }: Job,
  log: Log,
): { stop(graceMs?: number): Promise<void> } {
  const stopping = new AbortController();
  let running: Promise<void> | undefined;
  let isFailing = false;

  async function runOnce(): Promise<void> {
    try {
      await runInCall({ work: name }, () => run(stopping.signal));
      isFailing = false;
    } catch (err) {
      if (!isFailing && !stopping.signal.aborted) log.warn({ err, work: name }, failure);
      isFailing = true;
    } finally {
      running = undefined;
    }
  }

  function begin(): void {
    running ??= runOnce();
  }
  if (isImmediate) begin();
  const timer = setInterval(begin, everyMs).unref();

  return {
    /** Starts no further run, and resolves when the current one has stopped, or after `graceMs`. */
    async stop(graceMs) {
      clearInterval(timer);
      stopping.abort();
      if (graceMs === undefined) await running;
      else await Promise.race([running, sleep(graceMs, undefined, { ref: false })]);
    },
  };
}
