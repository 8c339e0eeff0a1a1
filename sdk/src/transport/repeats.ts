import type { Clock } from "../lib/clock.ts";
import type { Judged } from "./answer.ts";
import { spread } from "./gate.ts";
import type { Retry } from "./options.ts";

/** Decides on repetitions: returns the milliseconds to wait before the next attempt, if there may be one. */
export type NextRepeat = (judged: Judged, msLeft: number) => number | undefined;

/** Limits the repeats of all calls of a client while few of them succeed. */
export interface Repeats {
  /** The repeats of one call. */
  of(retry: Retry | undefined): NextRepeat;
  /** Records that an attempt has succeeded. */
  succeed(): void;
}

export const repeatsMax = 10;
const budgetMax = 10;
const backoffMs = 250;
const backoffMsMax = 20_000;

export function createRepeats(clock: Clock, usual: Retry | undefined): Repeats {
  let budget = budgetMax;
  return {
    of(retry = usual) {
      let left = retry === false ? 0 : Math.min(repeatsMax, retry?.repeats ?? 3);
      let backoff = backoffMs;
      let errors = 0;
      return ({ repeats, retryAfterMs }, msLeft) => {
        if (repeats === "once") errors += 1;
        if (!repeats || errors > 1 || left < 1) return undefined;
        const waitMs = retryAfterMs === undefined ? clock.random() * backoff : spread(retryAfterMs, clock);
        if (waitMs >= msLeft || budget < 1) return undefined;
        backoff = Math.min(backoffMsMax, backoff * 2);
        budget -= 1;
        left -= 1;
        return waitMs;
      };
    },
    succeed() {
      budget = Math.min(budgetMax, budget + 0.1);
    },
  };
}
