import type { Clock } from "../../lib/clock.ts";
import {
  admitAttempt,
  countFailure,
  type FailureCounts,
  type Failures,
  type PendingAttempt,
} from "./failure-counts.ts";
import type { SharedFailures } from "./shared-failures.ts";

/** The interval at which an attempt checks whether other processes have settled theirs. */
const pollMs = 50;

interface Settings {
  /** Distinguishes equal keys of different counts. */
  readonly kind: string;
  readonly failuresMax: number;
  /** Callers that may wait for the outcome of the attempts for one key. */
  readonly waitingMax: number;
}

interface Services {
  readonly clock: Clock;
  readonly failures: SharedFailures;
  /** Counts while the database does not answer. */
  readonly fallback: FailureCounts;
}

type Outcome = "failed" | "succeeded" | "unknown";

/** Counts consecutive failures over all processes, as one process would. */
export function createSharedFailureCounts(
  { kind, failuresMax, waitingMax }: Settings,
  { clock, failures, fallback }: Services,
): FailureCounts {
  /** The callers of this process that wait for an outcome, by key. */
  const waiting = new Map<string, Set<() => void>>();

  function settleIn(count: Failures, outcome: Outcome): number {
    count.underWay = Math.max(0, count.underWay - 1);
    if (outcome === "succeeded") count.failures = 0;
    return outcome === "failed" ? countFailure(count, failuresMax, clock.now()) : 0;
  }

  /** Resolves when this process settles an attempt for the key, or after an interval. */
  async function untilSettled(key: string): Promise<void> {
    const callers = waiting.get(key) ?? new Set();
    waiting.set(key, callers);
    const { promise, resolve } = Promise.withResolvers<void>();
    callers.add(resolve);
    const timer = setTimeout(resolve, pollMs);
    await promise;
    clearTimeout(timer);
    callers.delete(resolve);
    if (callers.size === 0) waiting.delete(key);
  }

  function start(key: string, applicationId: string): PendingAttempt {
    const settle = async (outcome: Outcome) => {
      const waitMs = await failures.change(applicationId, key, (count) => settleIn(count, outcome));
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
      for (;;) {
        const admit = (count: Failures) => admitAttempt(count, failuresMax, clock.now());
        const admitted = await failures.change(applicationId, key, admit);
        if (admitted === undefined) return fallback.begin(name);
        if (typeof admitted === "number") return admitted;
        if (admitted === "admitted") return start(key, applicationId);
        if ((waiting.get(key)?.size ?? 0) >= waitingMax) return "full";
        await untilSettled(key);
      }
    },
    get size() {
      return waiting.size;
    },
  };
}
