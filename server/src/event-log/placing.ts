import { randomUUID } from "node:crypto";
import type { Log } from "../config/log.ts";
import type { Database } from "../db/database.ts";
import { startJob } from "../jobs/job.ts";
import { releaseLease, takeLease } from "../jobs/leases.ts";
import type { Clock } from "../lib/clock.ts";
import type { EventLog } from "./event-log.ts";

const lookMs = 1_000;
const leaseMs = 6_000;
const renewalMs = 3_000;
const measureMs = 5_000;

/**
 * Looks once a second, in one process of a deployment, for events whose process died before it assigned the positions
 * (spec/events#backlog). Does nothing on an engine where writes assign them.
 */
export function startPlacing({
  database,
  clock,
  eventLog,
  log,
}: {
  readonly database: Database;
  readonly clock: Clock;
  readonly eventLog: Pick<EventLog, "placeAbandoned">;
  readonly log: Log;
}): { stop(): Promise<void> } {
  if (!database.dialect.hasRowLocks) return { async stop() {} };
  const lease = { name: "event positions", holder: randomUUID() };
  let holdsLease = false;
  let triedAt = Number.NEGATIVE_INFINITY;
  let measuredAt = Number.NEGATIVE_INFINITY;

  async function look(): Promise<void> {
    const now = performance.now();
    if (now - triedAt >= renewalMs) {
      triedAt = now;
      const time = clock.now();
      holdsLease = await database.write(({ queries }) => takeLease(lease, time, time + leaseMs, queries));
    }
    if (!holdsLease) return;
    const measures = now - measuredAt >= measureMs;
    if (measures) measuredAt = now;
    await eventLog.placeAbandoned({ measures });
  }

  const failure = "events without a position could not be found, which is retried";
  const job = startJob({ name: "event positions", everyMs: lookMs, failure, run: look }, log);

  return {
    async stop() {
      await job.stop();
      if (!holdsLease) return;
      await database.write(({ queries }) => releaseLease(lease, clock.now(), queries)).catch(() => {}); // the lease expires anyway
    },
  };
}
