import { setTimeout as sleep } from "node:timers/promises";
import { runInCall } from "./lib/current-call.ts";
import type { Log } from "./log.ts";

/** Work that goes on after its request has been answered. It comes in bounded steps, and can be taken up again later. */
export interface Background {
  /**
   * Begins when what was written before it is on disk.
   *
   * @param work stops after its current step when the signal is aborted; what it throws is logged
   */
  run(name: string, work: (signal: AbortSignal) => Promise<unknown>): void;
  /** How much of it is under way. */
  readonly runningCount: number;
  /** Resolves after the steps that are under way, but for those that take longer; nothing is begun any more. */
  stop(graceMs: number): Promise<void>;
}

/** @param afterwards runs an effect once what belongs to it is on disk (see `Database`) */
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
