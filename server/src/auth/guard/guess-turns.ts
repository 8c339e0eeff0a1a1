import type { Clock } from "../../lib/clock.ts";
import type { SharedFailures } from "./shared-failures.ts";

/** The rate of the attempts for one name. */
export interface GuessRate {
  readonly perSecond: number;
  /** Attempts that are admitted at once before the rate applies. */
  readonly burst: number;
}

export interface Turns {
  /** At least one. */
  readonly count: number;
  /** The time until they begin; then there is one turn. */
  readonly waitMs: number;
}

/** The turns of the attempts under one name. */
export interface GuessTurns {
  /** Takes a turn if this process can decide alone that it begins at once. */
  takeNow(): boolean;
  /** Takes the turns that begin at once, up to the requested number; if there are none, the next one. */
  take(wanted: number): Promise<Turns>;
  /** Whether new turns would be the same. */
  readonly isUnused: boolean;
}

/** Counts the turns of this process. */
export function createLocalTurns(rate: GuessRate): GuessTurns {
  const now = () => performance.now();
  let paidAt = now();
  return {
    takeNow() {
      if (delayMs(paidAt, now(), rate) > 0) return false;
      paidAt = pay(paidAt, 1, now(), rate);
      return true;
    },
    async take(wanted) {
      const turns = available(paidAt, wanted, now(), rate);
      paidAt = pay(paidAt, turns.count, now(), rate);
      return turns;
    },
    get isUnused() {
      return paidAt <= now();
    },
  };
}

interface Shared {
  readonly applicationId: string;
  /** Distinguishes the turns of a name from other counters. */
  readonly key: string;
  readonly rate: GuessRate;
  /** The rate of this process while the database does not answer. */
  readonly rateAlone: GuessRate;
}

/** The part of a rate that a process admits without a query, and reports later. */
const localShare = 1 / 64;
/** A time this far ahead was written by a process with a wrong clock. */
const skewMsMax = 60_000;

/**
 * Counts the turns of all processes together. A process takes the next turn as soon as attempts wait, and chooses among them when
 * it begins: processes whose attempts wait take turns, too.
 */
export function createSharedTurns(
  { applicationId, key, rate, rateAlone }: Shared,
  { clock, failures }: { readonly clock: Clock; readonly failures: SharedFailures },
): GuessTurns {
  const alone = createLocalTurns(rateAlone);
  const localTurns = createLocalTurns({ perSecond: rate.perSecond * localShare, burst: 1 });
  let unreported = 0;
  return {
    takeNow() {
      if (rate.burst * localShare < 1 || !localTurns.takeNow()) return false;
      unreported += 1;
      return true;
    },
    async take(wanted) {
      const reported = unreported;
      unreported = 0;
      const turns = await failures.change(applicationId, key, (row) => {
        const now = clock.now();
        const known = row.waitsUntil > now + skewMsMax ? now : row.waitsUntil;
        const paidAt = pay(known, reported, now, rate);
        const found = available(paidAt, wanted, now, rate);
        row.waitsUntil = pay(paidAt, found.count, now, rate);
        row.forgottenAt = row.waitsUntil;
        row.failures = 1; // a row without any is deleted
        return found;
      });
      if (turns !== undefined) return turns;
      unreported += reported;
      return alone.take(wanted);
    },
    get isUnused() {
      return localTurns.isUnused && alone.isUnused;
    },
  };
}

/** @param paidAt when all turns taken so far are paid for at the rate */
function delayMs(paidAt: number, now: number, { perSecond, burst }: GuessRate): number {
  return Math.max(0, paidAt - now - ((burst - 1) * 1_000) / perSecond);
}

function available(paidAt: number, wanted: number, now: number, rate: GuessRate): Turns {
  const owed = (Math.max(0, paidAt - now) * rate.perSecond) / 1_000;
  const count = Math.max(1, Math.min(wanted, Math.floor(rate.burst - owed)));
  return { count, waitMs: delayMs(paidAt, now, rate) };
}

function pay(paidAt: number, count: number, now: number, { perSecond }: GuessRate): number {
  return count === 0 ? paidAt : Math.max(paidAt, now) + (count * 1_000) / perSecond;
}
