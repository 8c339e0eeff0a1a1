import type { Database } from "../db/database.ts";
import type { Jobs, RunningJob } from "../jobs/job.ts";
import type { EventLog } from "./event-log.ts";

const lookMs = 1_000;
const leaseMs = 6_000;
const measureMs = 5_000;

/**
 * Looks once a second, in one process of a deployment, for events whose process died before it assigned the positions
 * (spec/events#backlog). Does nothing on an engine where writes assign them.
 */
export function startPlacing({
  database,
  eventLog,
  jobs,
}: {
  readonly database: Database;
  readonly eventLog: Pick<EventLog, "placeAbandoned">;
  readonly jobs: Jobs;
}): Pick<RunningJob, "stop"> {
  if (!database.dialect.hasRowLocks) return { async stop() {} };
  let measuredAt = Number.NEGATIVE_INFINITY;

  async function look(): Promise<void> {
    const now = performance.now();
    const measures = now - measuredAt >= measureMs;
    if (measures) measuredAt = now;
    await eventLog.placeAbandoned({ measures });
  }

  return jobs.start({
    name: "event positions",
    everyMs: lookMs,
    failure: "events without a position could not be found, which is retried",
    lease: { forMs: leaseMs },
    run: look,
  });
}
