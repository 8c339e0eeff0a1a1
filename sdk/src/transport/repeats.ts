import type { Clock } from "../lib/clock.ts";
import type { Failure } from "./answer.ts";
import type { Retry } from "./options.ts";

/** Limits the repeats of all calls of a client while few of them succeed. */
export interface Budget {
  /** How many repeats are left. */
  left: number;
}

/** Decides how often one call is repeated: returns the milliseconds to wait before the next attempt, if there may be one. */
export type NextRepeat = (failure: Failure, msLeft: number) => number | undefined;

export const budgetMax = 10;
const budgetPerSuccess = 0.1;
const repeatsDefault = 3;
export const repeatsMax = 10;
const backoffMs = 250;
const backoffMsMax = 20_000;

/** Called for each success. */
export function refill(budget: Budget): void {
  budget.left = Math.min(budgetMax, budget.left + budgetPerSuccess);
}

export function createRepeats(retry: Retry | undefined, budget: Budget, clock: Clock): NextRepeat {
  const repeats = retry === false ? 0 : Math.min(repeatsMax, retry?.repeats ?? repeatsDefault);
  let count = 0;
  let errors = 0;
  return ({ repeats: allowed, retryAfterMs }, msLeft) => {
    if (allowed === "once") errors += 1;
    if (allowed === "no" || errors > 1 || count >= repeats) return undefined;
    const wait =
      retryAfterMs === undefined
        ? clock.random() * Math.min(backoffMsMax, backoffMs * 2 ** count)
        : retryAfterMs + clock.random() * Math.max(1000, retryAfterMs / 10);
    if (wait >= msLeft || budget.left < 1) return undefined;
    budget.left -= 1;
    count += 1;
    return wait;
  };
}
