import type { Clock } from "../lib/clock.ts";
import { ApiError } from "../lib/errors.ts";
import type { LimitCounters } from "../limits/counters.ts";
import { KeyedSemaphore } from "../limits/keyed-semaphore.ts";
import { takeToken } from "../limits/token-buckets.ts";

/** Limits how often one user changes the password, because each change takes two hashes. */
export interface PasswordChanges {
  /**
   * Runs `work`, which hashes, after earlier changes of the same user.
   *
   * @throws ApiError RateLimitExceeded above the limit per minute; and errors of the work
   */
  run<T>(applicationId: string, userId: string, work: () => Promise<T>): Promise<T>;
}

/** Wrong current passwords count as well: as many as logins may fail before waiting times, then one per six seconds. */
const changesPerUser = { perSecond: 10 / 60, burst: 10 };
const underWayMax = 10;
const usersMax = 100_000;

/** @param settings with `rateLimits` false changes are not counted, but one user's changes still run one at a time */
export function createPasswordChanges(
  { clock, counters }: { readonly clock: Clock; readonly counters: Pick<LimitCounters, "createBuckets"> },
  settings: { readonly rateLimits: boolean },
): PasswordChanges {
  const buckets = counters.createBuckets("password changes", usersMax);
  const changes = new KeyedSemaphore(1);

  return {
    async run(applicationId, userId, work) {
      const key = `${applicationId} ${userId}`;
      if (settings.rateLimits) {
        await takeToken(buckets.find(key, changesPerUser, clock.now(), applicationId), clock, refusal);
      }
      if (!settings.rateLimits && changes.countOf(key) >= underWayMax) throw refusal(1_000);
      const release = await changes.acquire(key);
      try {
        return await work();
      } finally {
        release();
      }
    },
  };
}

function refusal(waitMs: number): ApiError {
  return new ApiError("RateLimitExceeded", "Too many attempts to change the password within a minute.", {
    retryAfterSeconds: Math.ceil(waitMs / 1_000),
  });
}
