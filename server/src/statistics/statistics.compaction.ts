import type { Database } from "../db/database.ts";
import { spans, startOf } from "../lib/spans.ts";
import { deleteStatistics, findPending, lockTotal, markMerged, putTotal } from "./statistics.store.ts";
import { Tally } from "./tally.ts";

/** The retention of intervals of each length. */
const retentionMs = { minute: 2 * spans.day, hour: 90 * spans.day, day: 3 * 365 * spans.day } as const;
const bytesMax = 65_536;

/** The intervals that are merged into longer ones, shorter ones first. */
const steps = [
  { from: "minute", into: "hour" },
  { from: "hour", into: "day" },
] as const;
type Step = (typeof steps)[number];

/**
 * Merges the minutes of each past hour and the hours of each past day, and deletes intervals after their retention.
 * Works in bounded steps, so that it can be stopped at any moment and resumed.
 *
 * @param applicationId empty for all applications together
 */
export async function compactStatistics(
  applicationId: string,
  now: number,
  database: Database,
  signal?: AbortSignal,
): Promise<void> {
  for (const step of steps) {
    for (;;) {
      signal?.throwIfAborted();
      const before = startOf(step.into, now);
      const found = await findPending(applicationId, spans[step.from], before, database.reads);
      if (found === undefined) break;
      await mergeIntervals(applicationId, step, startOf(step.into, found), database);
    }
  }
  for (const interval of ["minute", "hour", "day"] as const) {
    const before = startOf("hour", now - retentionMs[interval]); // hourly, because each deletion is a transaction
    await deleteStatistics(applicationId, spans[interval], before, database, signal);
  }
}

/**
 * Merges the pending intervals into the one that starts at a time, in one transaction, so that no interval counts
 * twice.
 */
async function mergeIntervals(
  applicationId: string,
  { from, into }: Step,
  start: number,
  database: Database,
): Promise<void> {
  const total = { application_id: applicationId, span: spans[into], starts_at: start };
  await database.write(async ({ queries }) => {
    const before = await lockTotal(total, queries);
    const parts = await markMerged(applicationId, spans[from], { from: start, to: start + spans[into] }, queries);
    const tally = before === undefined ? new Tally() : Tally.read(before.data);
    for (const { data } of parts) tally.merge(Tally.read(data));
    const counts = { calls: tally.calls, errors: tally.failed, data: tally.write(bytesMax) };
    await putTotal({ ...total, is_pending: into === "day" ? 0 : 1, ...counts }, queries);
  });
}
