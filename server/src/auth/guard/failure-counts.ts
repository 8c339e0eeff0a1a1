import type { Clock } from "../../lib/clock.ts";

/** A pending attempt. It counts as a failure until it is settled. */
export interface PendingAttempt {
  /** @returns the time in which no further attempt is allowed; 0 while attempts are left */
  fail(): number | Promise<number>;
  /** @param forgets whether to reset the earlier failures */
  end(forgets: boolean): void | Promise<void>;
}

/** Counts consecutive failures by key. Beyond the limit, waiting times double, with one attempt after each. */
export interface FailureCounts {
  /**
   * Waits while the pending attempts equal the remaining ones, because their outcome decides.
   *
   * @param applicationId of the name; undefined for an operator's name
   * @returns the attempt, or the milliseconds until the next one is allowed, or "full" when too many callers wait for
   * the key
   */
  begin(key: string, applicationId?: string): Promise<PendingAttempt | number | "full">;
  readonly size: number;
}

const waitMsFirst = 1_000;
const waitMsMax = 900_000;
/** Failures are forgotten after this time on top of the waiting time. */
export const rememberedMs = 900_000;
/** The number of oldest keys to examine when a new one needs space. */
const examinedMax = 16;

/** The consecutive failures under one key. */
export interface Failures {
  failures: number;
  /** Attempts without an outcome yet. */
  underWay: number;
  /** No attempt is allowed before this time. */
  waitsUntil: number;
  forgottenAt: number;
}

interface Count extends Failures {
  waiting: (() => void)[];
}

/**
 * Counts an attempt as pending if it is admitted.
 *
 * @returns the milliseconds until one is allowed; "undecided" while the outcome of pending attempts decides
 */
export function admitAttempt(count: Failures, failuresMax: number, now: number): "admitted" | "undecided" | number {
  if (count.underWay === 0 && now >= count.forgottenAt) count.failures = 0;
  if (count.failures < failuresMax && count.failures + count.underWay >= failuresMax) return "undecided";
  if (count.failures >= failuresMax) {
    const waitMs = count.waitsUntil - now;
    if (waitMs > 0) return waitMs;
    if (count.underWay > 0) return waitMsFirst; // after a waiting time, admit one attempt
  }
  count.underWay += 1;
  return "admitted";
}

/** Counts an attempt that failed. @returns the milliseconds until the next one is allowed */
export function countFailure(count: Failures, failuresMax: number, now: number): number {
  count.failures += 1;
  const waitMs =
    count.failures < failuresMax ? 0 : Math.min(waitMsFirst * 2 ** (count.failures - failuresMax), waitMsMax);
  count.waitsUntil = now + waitMs;
  count.forgottenAt = count.waitsUntil + rememberedMs;
  return waitMs;
}

/**
 * @param failuresMax consecutive failures without a waiting time
 * @param countsMax the number of keys to store. Beyond it, the keys with the fewest failures are forgotten first: to
 * escape a waiting time, an attacker would have to fail as often with as many other keys before the time is over.
 * @param waitingMax callers that may wait for the outcome of the attempts for one key
 */
export function createFailureCounts(
  failuresMax: number,
  countsMax: number,
  waitingMax: number,
  clock: Clock,
): FailureCounts {
  const counts = new Map<string, Count>();

  function find(key: string): Count {
    let count = counts.get(key);
    if (count === undefined) {
      if (counts.size >= countsMax) freeEntry();
      count = { failures: 0, underWay: 0, waitsUntil: 0, forgottenAt: 0, waiting: [] };
      counts.set(key, count);
    }
    return count;
  }

  /** Never drops keys with a pending attempt, which are few. */
  function freeEntry(): void {
    let [least, failuresLeast] = ["", Number.POSITIVE_INFINITY];
    const examined: [string, Count][] = [];
    for (const [key, count] of counts) {
      if (examined.length === examinedMax) break;
      examined.push([key, count]);
      const failures = clock.now() >= count.forgottenAt ? 0 : count.failures;
      if (count.underWay === 0 && failures < failuresLeast) [least, failuresLeast] = [key, failures];
    }
    for (const [key, count] of examined) {
      counts.delete(key);
      if (key !== least) counts.set(key, count); // move to the end, so that the next call examines others
    }
  }

  function settle(key: string, count: Count): void {
    count.underWay -= 1;
    if (count.underWay === 0 && count.failures === 0 && count.waiting.length === 0) counts.delete(key);
    for (const wake of count.waiting.splice(0)) wake();
  }

  function start(key: string, count: Count): PendingAttempt {
    return {
      fail() {
        const waitMs = countFailure(count, failuresMax, clock.now());
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
        const admitted = admitAttempt(count, failuresMax, clock.now());
        if (admitted === "admitted") return start(key, count);
        if (typeof admitted === "number") return admitted;
        if (count.waiting.length >= waitingMax) return "full";
        await new Promise<void>((wake) => count.waiting.push(wake));
      }
    },
    get size() {
      return counts.size;
    },
  };
}
