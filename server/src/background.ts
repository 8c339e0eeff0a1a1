import type { Log } from "./log.ts";

/** Work that goes on after its request has been answered. It comes in bounded steps, and can be taken up again later. */
export interface Background {
  /** @param work stops after its current step when the signal is aborted; what it throws is logged */
  run(name: string, work: (signal: AbortSignal) => Promise<void>): void;
  /** Resolves after the steps that are under way; nothing is begun any more. */
  stop(): Promise<void>;
}

export function createBackground(log: Log): Background {
  const stopping = new AbortController();
  const running = new Set<Promise<void>>();
  return {
    run(name, work) {
      if (stopping.signal.aborted) return;
      const done = work(stopping.signal)
        .catch((err) => {
          if (!stopping.signal.aborted) log.warn({ err, work: name }, "background work did not finish");
        })
        .finally(() => running.delete(done));
      running.add(done);
    },
    async stop() {
      stopping.abort();
      await Promise.all(running);
    },
  };
}
