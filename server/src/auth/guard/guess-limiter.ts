import type { Clock } from "../../lib/clock.ts";
import type { SharedFailures } from "./shared-failures.ts";

/** The rate of the attempts for one name. */
export interface GuessRate {
  readonly perSecond: number;
  /** Attempts that are admitted immediately before the rate applies. */
  readonly burst: number;
}

export interface Permits {
  /** At least one. */
  readonly count: number;
  /** The time until the permits are valid; if it is not 0, there is one permit. */
  readonly waitMs: number;
}

/** Limits the rate of the attempts for one name. */
export interface GuessLimiter {
  /** Takes a permit without a query, if this process can decide that one is available. */
  tryAcquire(): boolean;
  /** Reserves up to `wanted` permits that are available now or, if there are no such permits, the next one. */
  reserve(wanted: number): Promise<Permits>;
  /** Whether a new limiter would behave the same. */
  readonly isIdle: boolean;
}

/** Limits the rate in this process only. */
export function createLocalLimiter(rate: GuessRate): GuessLimiter {
  const now = () => performance.now();
  let paidAt = now();
  return {
    tryAcquire() {
      if (delayMs(paidAt, now(), rate) > 0) return false;
      paidAt = pay(paidAt, 1, now(), rate);
      return true;
    },
    async reserve(wanted) {
      const permits = available(paidAt, wanted, now(), rate);
      paidAt = pay(paidAt, permits.count, now(), rate);
      return permits;
    },
    get isIdle() {
      return paidAt <= now();
    },
  };
}

interface Shared {
  readonly applicationId: string;
  /** Distinguishes this row from other counters. */
  readonly key: string;
  readonly rate: GuessRate;
  /** The rate of this process while the database does not answer. */
  readonly fallbackRate: GuessRate;
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
  { clock, failures }: { readonly clock: Clock; readonly failures: SharedFailures },
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
      const permits = await failures.change(applicationId, key, (row) => {
        const now = clock.now();
        const stored = row.waitsUntil > now + skewMsMax ? now : row.waitsUntil;
        const paidAt = pay(stored, reported, now, rate);
        const found = available(paidAt, wanted, now, rate);
        row.waitsUntil = pay(paidAt, found.count, now, rate);
        row.forgottenAt = row.waitsUntil;
        row.failures = 1; // a row without any is deleted
        return found;
      });
      if (permits !== undefined) return permits;
      unreported += reported;
      return fallback.reserve(wanted);
    },
    get isIdle() {
      return localLimiter.isIdle && fallback.isIdle;
    },
  };
}

/** @param paidAt the time at which the rate has made up for all permits so far */
function delayMs(paidAt: number, now: number, { perSecond, burst }: GuessRate): number {
  return Math.max(0, paidAt - now - ((burst - 1) * 1_000) / perSecond);
}

function available(paidAt: number, wanted: number, now: number, rate: GuessRate): Permits {
  const owed = (Math.max(0, paidAt - now) * rate.perSecond) / 1_000;
  const count = Math.max(1, Math.min(wanted, Math.floor(rate.burst - owed)));
  return { count, waitMs: delayMs(paidAt, now, rate) };
}

function pay(paidAt: number, count: number, now: number, { perSecond }: GuessRate): number {
  return count === 0 ? paidAt : Math.max(paidAt, now) + (count * 1_000) / perSecond;
}
