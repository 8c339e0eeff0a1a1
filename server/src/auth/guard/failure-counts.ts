import type { Clock } from "../../lib/clock.ts";

/** A pending attempt. It counts as a failure until it is settled. */
export interface PendingAttempt {
  /** @returns the time in which no further attempt is allowed; 0 while attempts are left */
  fail(): Promise<number>;
  /** @param forgets whether to reset the earlier failures */
  end(forgets: boolean): Promise<void>;
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
}

/** The consecutive failures under one key. */
export interface Failures {
  failures: number;
  /** Attempts without an outcome yet. */
  underWay: number;
  /** No attempt is allowed before this time. */
  waitsUntil: number;
  forgottenAt: number;
}

/** Stores failures by key: in the memory of this process, or in the database for all processes. */
export interface FailureStore {
  /** The number of processes that divide a limit, because each has a store; 1 if they share this one. */
  readonly processes: number;
  /**
   * @param applicationId empty for names of operators
   * @param apply may run several times, each time on the stored failures
   * @returns undefined when the store cannot answer
   */
  change<T>(applicationId: string, key: string, apply: (failures: Failures) => T): T | Promise<T | undefined>;
}

const waitMsFirst = 1_000;
const waitMsMax = 900_000;
/** Failures are forgotten after this time on top of the waiting time. */
export const rememberedMs = 900_000;
/** Typing mistakes that every process admits, regardless of the number of processes. */
const mistypedMax = 3;
/** The interval at which an attempt checks whether other processes have settled theirs. */
const pollMs = 50;
/** The number of oldest keys to examine when a new one needs space. */
const examinedMax = 16;

/** The part of a limit that applies in a store. */
export function partOf(max: number, { processes }: FailureStore): number {
  return Math.min(max, Math.max(Math.ceil(max / processes), mistypedMax));
}

/**
 * Counts an attempt as pending if it is admitted.
 *
 * @returns the milliseconds until one is allowed; "undecided" while the outcome of pending attempts decides
 */
function admitAttempt(count: Failures, failuresMax: number, now: number): "admitted" | "undecided" | number {
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

type Outcome = "failed" | "succeeded" | "unknown";

/** @returns the milliseconds until the next attempt is allowed */
function settleAttempt(count: Failures, outcome: Outcome, failuresMax: number, now: number): number {
  count.underWay = Math.max(0, count.underWay - 1);
  if (outcome === "succeeded") count.failures = 0;
  if (outcome !== "failed") return 0;
  count.failures += 1;
  const waitMs =
    count.failures < failuresMax ? 0 : Math.min(waitMsFirst * 2 ** (count.failures - failuresMax), waitMsMax);
  count.waitsUntil = now + waitMs;
  count.forgottenAt = count.waitsUntil + rememberedMs;
  return waitMs;
}

interface Settings {
  /** Distinguishes equal keys of different counts. */
  readonly kind: string;
  /** Consecutive failures without a waiting time. */
  readonly failuresMax: number;
  /** Callers that may wait for the outcome of the attempts for one key. */
  readonly waitingMax: number;
}

/** @param services `stores` in the order of their use: the last one is in memory, and always answers */
export function createFailureCounts(
  { kind, failuresMax, waitingMax }: Settings,
  { clock, stores }: { readonly clock: Clock; readonly stores: readonly FailureStore[] },
): FailureCounts {
  /** The callers of this process that wait for an outcome, by key. */
  const waiting = new Map<string, Set<() => void>>();

  /** Resolves when this process settles an attempt for the key; in a shared store also after an interval. */
  async function untilSettled(key: string, store: FailureStore): Promise<void> {
    const callers = waiting.getOrInsertComputed(key, () => new Set());
    const { promise, resolve } = Promise.withResolvers<void>();
    callers.add(resolve);
    const timer = store === stores.at(-1) ? undefined : setTimeout(resolve, pollMs);
    await promise;
    clearTimeout(timer);
    callers.delete(resolve);
    if (callers.size === 0) waiting.delete(key);
  }

  function start(applicationId: string, key: string, store: FailureStore): PendingAttempt {
    const settle = async (outcome: Outcome) => {
      const apply = (count: Failures) => settleAttempt(count, outcome, partOf(failuresMax, store), clock.now());
      const waitMs = await store.change(applicationId, key, apply);
      for (const wake of waiting.get(key) ?? []) wake();
      return waitMs ?? 0;
    };
    return {
      fail: () => settle("failed"),
      end: async (forgets) => void (await settle(forgets ? "succeeded" : "unknown")),
    };
  }

  return {
    async begin(name, applicationId = "") {
      const key = `${kind} ${name}`;
      for (let at = 0; ; ) {
        const store = stores[at];
        if (store === undefined) throw new Error("the memory of the process always answers");
        const admit = (count: Failures) => admitAttempt(count, partOf(failuresMax, store), clock.now());
        const change = store.change(applicationId, key, admit);
        // Waits for promises only: an outcome between the change and the wait for it would be missed.
        const admitted = change instanceof Promise ? await change : change;
        if (typeof admitted === "number") return admitted;
        if (admitted === "admitted") return start(applicationId, key, store);
        if (admitted === undefined) {
          at += 1;
          continue;
        }
        if ((waiting.get(key)?.size ?? 0) >= waitingMax) return "full";
        await untilSettled(key, store);
        at = 0;
      }
    },
  };
}

/**
 * Stores failures in memory.
 *
 * @param keysMax beyond it, the keys with the fewest failures are forgotten first: to escape a waiting time, an
 * attacker would have to fail as often with as many other keys before the time is over
 */
export function createLocalFailures(
  { processes, keysMax }: { readonly processes: number; readonly keysMax: number },
  clock: Clock,
): FailureStore & { readonly size: number } {
  const counts = new Map<string, Failures>();

  /** Never drops keys with a pending attempt, which are few. */
  function freeEntry(): void {
    let [least, failuresLeast] = ["", Number.POSITIVE_INFINITY];
    const examined: [string, Failures][] = [];
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

  return {
    processes,
    change(_applicationId, key, apply) {
      let count = counts.get(key);
      if (count === undefined) {
        if (counts.size >= keysMax) freeEntry();
        count = { failures: 0, underWay: 0, waitsUntil: 0, forgottenAt: 0 };
        counts.set(key, count);
      }
      const result = apply(count);
      if (count.failures + count.underWay === 0) counts.delete(key);
      return result;
    },
    get size() {
      return counts.size;
    },
  };
}
