import type { Clock } from "../lib/clock.ts";
import { ApiError } from "../lib/errors.ts";
import type { LimitCounters } from "../limits/counters.ts";
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
  /** The last pending change of each user, and how many are pending. */
  const underWay = new Map<string, { readonly last: Promise<unknown>; readonly count: number }>();

  return {
    async run(applicationId, userId, work) {
      const key = `${applicationId} ${userId}`;
      if (settings.rateLimits) {
        await takeToken(buckets.find(key, changesPerUser, clock.now(), applicationId), clock, refusal);
      }
      const before = underWay.get(key);
      if (!settings.rateLimits && (before?.count ?? 0) >= underWayMax) throw refusal(1_000);
      const own = (before?.last ?? Promise.resolve()).catch(() => {}).then(work);
      underWay.set(key, { last: own, count: (before?.count ?? 0) + 1 });
      try {
        return await own;
      } finally {
        const { last, count = 1 } = underWay.get(key) ?? {};
        if (count === 1 || last === undefined) underWay.delete(key);
        else underWay.set(key, { last, count: count - 1 });
      }
    },
  };
}

function refusal(waitMs: number): ApiError {
  return new ApiError("RateLimitExceeded", "Too many attempts to change the password within a minute.", {
    retryAfterSeconds: Math.ceil(waitMs / 1_000),
  });
}
