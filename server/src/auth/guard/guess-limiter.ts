import type { Limit } from "../../contract/policy.ts";
import type { Clock } from "../../lib/clock.ts";
import { type Reserved, TokenBucket } from "../../limits/token-buckets.ts";
import type { FailureStore } from "./failure-counts.ts";

/** Limits the rate of the attempts for one name. */
export interface GuessLimiter {
  /** Takes a permit without a query, if this process can decide that one is available. */
  tryAcquire(): boolean;
  /** Reserves up to `wanted` permits that are available now or, if there are no such permits, the next one. */
  reserve(wanted: number): Promise<Reserved>;
  /** Whether a new limiter would behave the same. */
  readonly isIdle: boolean;
}

/** Limits the rate in this process only. */
export function createLocalLimiter(rate: Limit): GuessLimiter {
  const now = () => performance.now();
  const bucket = new TokenBucket(rate, now());
  return {
    tryAcquire() {
      const isAvailable = bucket.waitMs(now()) === 0;
      if (isAvailable) bucket.take(now());
      return isAvailable;
    },
    reserve: async (wanted) => bucket.reserve(now(), wanted),
    get isIdle() {
      return bucket.missing(now()) === 0;
    },
  };
}

interface Shared {
  readonly applicationId: string;
  /** Distinguishes this row from other counters. */
  readonly key: string;
  readonly rate: Limit;
  /** The rate of this process while the database does not answer. */
  readonly fallbackRate: Limit;
}

/** The share of a rate that a process admits without a query, and reports later. */
const localShare = 1 / 64;
/** A time further ahead than this was written by a process with a wrong clock. */
const skewMsMax = 60_000;

/**
 * Limits the rate of all processes together. A process reserves the next permit as soon as attempts wait, and chooses
 * among them when it becomes valid, so that processes share the permits fairly.
 */
export function createSharedLimiter(
  { applicationId, key, rate, fallbackRate }: Shared,
  { clock, failures }: { readonly clock: Clock; readonly failures: Pick<FailureStore, "change"> },
): GuessLimiter {
  const fallback = createLocalLimiter(fallbackRate);
  const localLimiter = createLocalLimiter({ perSecond: rate.perSecond * localShare, burst: 1 });
  let unreported = 0;
  return {
    tryAcquire() {
      if (rate.burst * localShare < 1 || !localLimiter.tryAcquire()) return false;
      unreported += 1;
      return true;
    },
    async reserve(wanted) {
      const reported = unreported;
      unreported = 0;
      const reserved = await failures.change(applicationId, key, (row) => {
        const now = clock.now();
        const bucket = TokenBucket.fullAt(row.waitsUntil > now + skewMsMax ? now : row.waitsUntil, rate, now);
        if (reported > 0) bucket.take(now, reported);
        const found = bucket.reserve(now, wanted);
        row.waitsUntil = Math.round(bucket.fullAt(now));
        row.forgottenAt = row.waitsUntil;
        row.failures = 1; // a row without any is deleted
        return found;
      });
      if (reserved !== undefined) return reserved;
      unreported += reported;
      return fallback.reserve(wanted);
    },
    get isIdle() {
      return localLimiter.isIdle && fallback.isIdle;
    },
  };
}
