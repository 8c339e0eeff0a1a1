import type { Log } from "../config/log.ts";
import type { Database } from "../db/database.ts";
import { findFact, putFact } from "../db/deployment-facts.ts";

/** A longer time between two rounds is a clock jump or an outage. A jump backwards is harmless: nothing expires early. */
const jumpMs = 86_400_000;
/** The time for operators to notice a jump. */
const waitMs = 3_600_000;

/**
 * Prevents maintenance from deleting data that has expired only according to a wrong clock
 * (spec/deployment#maintenance-and-the-clock).
 */
export interface ClockGuard {
  /**
   * False for an hour after the clock has jumped ahead by more than a day since the last round of any process, or until
   * `rollcall accept --clock`.
   */
  mayDelete(now: number): Promise<boolean>;
  /** Records the time of a completed round. */
  finished(now: number): Promise<void>;
}

/** @param monotonicTime a clock in milliseconds that cannot be set */
export function createClockGuard(
  {
    database,
    log,
  }: {
    readonly database: Database;
    readonly log: Pick<Log, "warn">;
  },
  monotonicTime: () => number = () => performance.now(),
): ClockGuard {
  let noticedAt: number | undefined;

  return {
    async mayDelete(now) {
      const last = await findFact("maintenance", database.reads);
      if (last === undefined || now - Number(last) <= jumpMs) {
        noticedAt = undefined;
        return true;
      }
      if (noticedAt === undefined) {
        noticedAt = monotonicTime();
        log.warn(
          {
            now: new Date(now).toISOString(),
            last_round: new Date(Number(last)).toISOString(),
          },
          "maintenance waits for an hour, because the clock has jumped ahead by more than a day: `rollcall accept --clock` confirms that it is right",
        );
      }
      return monotonicTime() - noticedAt >= waitMs;
    },
    finished: (now) => database.write(({ queries }) => putFact("maintenance", `${now}`, queries)),
  };
}
