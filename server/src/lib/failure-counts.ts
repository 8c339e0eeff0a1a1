import type { Clock } from "./clock.ts";

/** A try that is under way. It counts as a failure until it has ended. */
export interface Try {
  /** @returns how long nobody may try from now on; 0 while there are tries left */
  fail(): number;
  /** @param forgets whether the failures before are of no account any more */
  end(forgets: boolean): void;
}

/** Counts failures in a row by key. After so many of them come waiting times that double, with one try after each. */
export interface FailureCounts {
  /**
   * Waits while as many tries are under way as are left: what comes of them decides.
   *
   * @returns the try, or for how many milliseconds there is none
   */
  begin(key: string): Promise<Try | number>;
  readonly size: number;
}

const waitMsFirst = 1_000;
const waitMsMax = 900_000;
/** After so long, on top of the waiting time, the failures are forgotten. */
const rememberedMs = 900_000;
/** So many of the oldest are looked at to make room for a new one. */
const lookedAtMax = 16;

interface Count {
  failures: number;
  underWay: number;
  /** Nobody may try before. */
  waitsUntil: number;
  forgottenAt: number;
  waiting: (() => void)[];
}

/**
 * @param failuresMax failures in a row without a waiting time
 * @param countsMax keys that are remembered. Where there are more, those with the fewest failures are forgotten first: to
 *   be rid of a waiting time one would have to fail that often with as many other keys, in less time than it lasts.
 */
export function createFailureCounts(failuresMax: number, countsMax: number, clock: Clock): FailureCounts {
  const counts = new Map<string, Count>();

  function find(key: string): Count {
    let count = counts.get(key);
    if (count === undefined) {
      if (counts.size >= countsMax) makeRoom();
      count = { failures: 0, underWay: 0, waitsUntil: 0, forgottenAt: 0, waiting: [] };
      counts.set(key, count);
    }
    if (count.underWay === 0 && clock.now() >= count.forgottenAt) count.failures = 0;
    return count;
  }

  /** Of tries under way nothing is forgotten: those are few. */
  function makeRoom(): void {
    let [least, failuresLeast] = ["", Number.POSITIVE_INFINITY];
    const seen: [string, Count][] = [];
    for (const [key, count] of counts) {
      if (seen.length === lookedAtMax) break;
      seen.push([key, count]);
      const failures = clock.now() >= count.forgottenAt ? 0 : count.failures;
      if (count.underWay === 0 && failures < failuresLeast) [least, failuresLeast] = [key, failures];
    }
    for (const [key, count] of seen) {
      counts.delete(key);
      if (key !== least) counts.set(key, count); // at the end: the next time others are looked at
    }
  }

  function settle(key: string, count: Count): void {
    count.underWay -= 1;
    if (count.underWay === 0 && count.failures === 0 && count.waiting.length === 0) counts.delete(key);
    for (const wake of count.waiting.splice(0)) wake();
  }

  function start(key: string, count: Count): Try {
    count.underWay += 1;
    return {
      fail() {
        const now = clock.now();
        count.failures += 1;
        const waitMs =
          count.failures < failuresMax ? 0 : Math.min(waitMsFirst * 2 ** (count.failures - failuresMax), waitMsMax);
        count.waitsUntil = now + waitMs;
        count.forgottenAt = count.waitsUntil + rememberedMs;
        settle(key, count);
        return waitMs;
      },
      end(forgets) {
        if (forgets) count.failures = 0;
        settle(key, count);
      },
    };
  }

  return {
    async begin(key) {
      for (;;) {
        const count = find(key);
        if (count.failures + count.underWay < failuresMax) return start(key, count);
        if (count.failures >= failuresMax) {
          const waitMs = count.waitsUntil - clock.now();
          if (waitMs > 0) return waitMs;
          if (count.underWay > 0) return waitMsFirst; // of those that come after the waiting time, one is let through
          return start(key, count);
        }
        await new Promise<void>((wake) => count.waiting.push(wake));
      }
    },
    get size() {
      return counts.size;
    },
  };
}
