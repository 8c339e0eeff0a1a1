import type { Database } from "../db/database.ts";
import { findFact, putFact } from "../db/deployment-facts.ts";
import type { Log } from "../log.ts";

/** A longer time between two rounds of maintenance is a jump of the clock, or an outage. A jump back deletes nothing early. */
const jumpMs = 86_400_000;
/** The time in which operators can notice a jump. */
const waitMs = 3_600_000;

/**
 * Keeps maintenance from deleting data that only seem to have expired, because the clock is wrong
 * (spec/deployment#maintenance-and-the-clock).
 */
export interface ClockGuard {
  /**
   * False for the first hour after the clock has jumped ahead by more than a day since the last round of any process, until
   * `rollcall accept --clock`; and while the clock differs from that of the database by more than a day.
   */
  mayDelete(now: number): Promise<boolean>;
  /** Records the end of a round. */
  finished(now: number): Promise<void>;
}

/** @param monotonicTime a clock in milliseconds that cannot be set */
export function createClockGuard(
  {
    database,
    log,
    ownReports,
  }: {
    readonly database: Database;
    readonly log: Pick<Log, "warn">;
    readonly ownReports: { readonly clockAheadMs: number | undefined };
  },
  monotonicTime: () => number = () => performance.now(),
): ClockGuard {
  let noticedAt: number | undefined;

  return {
    async mayDelete(now) {
      const last = await findFact("maintenance", database.reads);
      const isAway = Math.abs(ownReports.clockAheadMs ?? 0) > jumpMs;
      const isJump = last !== undefined && now - Number(last) > jumpMs;
      if (!isAway && !isJump) {
        noticedAt = undefined;
        return true;
      }
      if (noticedAt === undefined) {
        noticedAt = monotonicTime();
        log.warn(
          {
            now: new Date(now).toISOString(),
            last_round: last === undefined ? undefined : new Date(Number(last)).toISOString(),
          },
          "maintenance waits for an hour, because the clock has jumped ahead by more than a day: `rollcall accept --clock` confirms that it is right",
        );
      }
      return !isAway && monotonicTime() - noticedAt >= waitMs;
    },
    finished: (now) => database.write(({ queries }) => putFact("maintenance", `${now}`, queries)),
  };
}
