import type { Clock } from "../lib/clock.ts";
import type { Judged } from "./answer.ts";
import { spread } from "./gate.ts";
import type { Retry } from "./options.ts";

/** Returns the retry delay in ms, or undefined to give up. */
export type NextRepeat = (judged: Judged, msLeft: number) => number | undefined;

/** A token bucket for the retries of a client: refills one every five seconds and one per ten successes, up to ten. */
export interface Repeats {
  /** The retries of one call. */
  of(retry: Retry | undefined): NextRepeat;
  /** Records that an attempt has succeeded. */
  succeed(): void;
}

export const repeatsMax = 10;
/** The cost of a retry. Time refills the budget; a success refills a tenth of this cost. */
const repeatMs = 5_000;
const budgetMs = 10 * repeatMs;
const backoffMs = 250;
const backoffMsMax = 20_000;

export function createRepeats(clock: Clock, usual: Retry | undefined): Repeats {
  /** When the budget is full again. */
  let fullAt = 0;
  return {
    of(retry = usual) {
      let left = retry === false ? 0 : Math.min(repeatsMax, retry?.repeats ?? 3);
      let backoff = backoffMs;
      let errors = 0;
      return ({ repeats, retryAfterMs }, msLeft) => {
        if (repeats === "once") errors += 1;
        if (!repeats || errors > 1 || left < 1) return undefined;
        const waitMs = retryAfterMs === undefined ? clock.random() * backoff : spread(retryAfterMs, clock);
        const now = clock.now();
        fullAt = Math.min(now + budgetMs, Math.max(now, fullAt)); // also after the clock was set back
        if (waitMs >= msLeft || fullAt + repeatMs > now + budgetMs) return undefined;
        backoff = Math.min(backoffMsMax, backoff * 2);
        fullAt += repeatMs;
        left -= 1;
        return waitMs;
      };
    },
    succeed() {
      fullAt -= repeatMs / 10;
    },
  };
}
