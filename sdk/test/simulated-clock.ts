import { setImmediate } from "node:timers/promises";
import type { Clock } from "../src/lib/clock.ts";

/** A clock that stands still until a test moves it. */
export interface SimulatedClock extends Clock {
  /** Advances to the next timer, repeatedly, until the work has settled. Takes no real time. */
  settle<T>(work: Promise<T>): Promise<T>;
  /** Lets time pass, with the timers that are due in it. */
  advance(ms: number): Promise<void>;
}

export function createSimulatedClock(random: () => number = () => 0.5): SimulatedClock {
  const timers = new Set<{ readonly at: number; readonly run: () => void }>();
  let now = Date.UTC(2026, 0, 1);

  function runNext(until: number): boolean {
    const [next] = [...timers].sort((a, b) => a.at - b.at);
    if (next === undefined || next.at > until) return false;
    timers.delete(next);
    now = Math.max(now, next.at);
    next.run();
    return true;
  }

  return {
    now: () => now,
    random,
    after(ms, run) {
      const timer = { at: now + ms, run };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    async settle(work) {
      let isSettled = false;
      const settled = () => {
        isSettled = true;
      };
      work.then(settled, settled);
      for (;;) {
        // A tick runs all work that needs no time.
        await setImmediate();
        if (isSettled) return work;
        if (!runNext(Number.POSITIVE_INFINITY)) throw new Error("the work waits for no timer");
      }
    },
    async advance(ms) {
      const until = now + ms;
      do await setImmediate();
      while (runNext(until));
      now = until;
    },
  };
}
