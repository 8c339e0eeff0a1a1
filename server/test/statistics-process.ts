import { ApiError } from "../src/lib/errors.ts";
import { createStatistics, type Statistics } from "../src/statistics/statistics.ts";
import type { TestApp } from "./harness.ts";

/** Creates the statistics of another process of a deployment, with a database that can be made unavailable. */
export function createOtherStatistics({ app }: TestApp): {
  readonly statistics: Statistics;
  goAway(away: boolean): void;
} {
  const { database, clock, log } = app;
  let isAway = false;
  const unsteady: typeof database = {
    ...database,
    write: (work, options) =>
      isAway ? Promise.reject(new ApiError("ServiceUnavailable")) : database.write(work, options),
  };
  return {
    statistics: createStatistics({ database: unsteady, clock, log }),
    goAway: (away) => {
      isAway = away;
    },
  };
}
