import type { Clock } from "../lib/clock.ts";
import type { Failure } from "./answer.ts";
import type { Retry } from "./options.ts";

/** Limits the repeats of all calls of a client while few of them succeed. */
export interface Budget {
  /** Takes a repeat, if one is left. */
  take(): boolean;
  /** Called for each success. */
  refill(): void;
}

/** Decides how often one call is repeated. */
export interface Repeats {
  /** The milliseconds to wait before the next attempt; undefined if there must be none. */
  next(failure: Failure, msLeft: number): number | undefined;
}

const budgetMax = 10;
const budgetPerSuccess = 0.1;
const repeatsDefault = 3;
const repeatsMax = 10;
const backoffMs = 250;
const backoffMsMax = 20_000;

export function createBudget(): Budget {
  let left = budgetMax;
  return {
    take() {
      if (left < 1) return false;
      left -= 1;
      return true;
    },
    refill() {
      left = Math.min(budgetMax, left + budgetPerSuccess);
    },
  };
}

export function createRepeats(retry: Retry | undefined, budget: Budget, clock: Clock): Repeats {
  const repeats = retry === false ? 0 : Math.min(repeatsMax, retry?.repeats ?? repeatsDefault);
  let count = 0;
  let errors = 0;
  return {
    next({ repeats: allowed, retryAfterMs }, msLeft) {
      if (allowed === "once") errors += 1;
      if (allowed === "no" || errors > 1 || count >= repeats) return undefined;
      const wait =
        retryAfterMs === undefined
          ? clock.random() * Math.min(backoffMsMax, backoffMs * 2 ** count)
          : retryAfterMs + clock.random() * Math.max(1000, retryAfterMs / 10);
      if (wait >= msLeft || !budget.take()) return undefined;
      count += 1;
      return wait;
    },
  };
}
