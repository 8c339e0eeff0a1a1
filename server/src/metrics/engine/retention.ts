import { sql } from "kysely";
import type { Database, Queries } from "../../db/database.ts";
import { firstIdAt } from "../../lib/ids.ts";
import { chunksBefore, rollupsBefore, rollupsOf, seriesOf, startOf } from "./series.ts";
import { addStoredBytes, chunkBytes, rollupBytes } from "./stored-bytes.store.ts";

const keysAtOnce = 100;
const handlesPerStep = 500;
/** Few per step, because chunks may be large. */
const rowsPerStep = 50;

/**
 * Deletes events before a time, rounded to the hour, and the handles of events received before it. Works in bounded
 * steps, so that it can be stopped at any moment and resumed.
 */
export async function deleteOldMetrics(
  applicationId: string,
  before: number,
  database: Database,
  signal?: AbortSignal,
): Promise<void> {
  async function repeat(step: (queries: Queries) => Promise<number>): Promise<void> {
    let rows: number;
    do {
      signal?.throwIfAborted();
      rows = await database.write(({ queries }) => step(queries));
    } while (rows > 0);
  }

  const handle = firstIdAt("MetricEvent", before);
  await repeat((queries) => deleteHandles(applicationId, handle, handlesPerStep, queries));

  const earliest = startOf("hour", before);
  for (;;) {
    const keys = await listOldKeys(applicationId, earliest, keysAtOnce, database.reads);
    if (keys.length === 0) return;
    for (const key of keys) {
      const seriesId = seriesOf(key);
      const chunks = chunksBefore(seriesId, before);
      await repeat((queries) => deleteChunks(applicationId, key, chunks, rowsPerStep, queries));

      let left = rollupsOf(seriesId);
      let rollupsLeft = 0;
      for (;;) {
        const first = await findFirstRollup(applicationId, left, database.reads);
        if (first === undefined) break;
        const { from, to, next } = rollupsBefore(first, before);
        await repeat((queries) => deleteRollups(applicationId, key, { from, to }, rowsPerStep, queries));
        if ((await findFirstRollup(applicationId, { from, to: next }, database.reads)) !== undefined) rollupsLeft += 1;
        left = { ...left, from: next };
      }
      await database.write(async ({ queries }) => {
        await updateEarliest(applicationId, key, earliest, queries);
        if (rollupsLeft === 0) await deleteKey(applicationId, key, queries);
      });
    }
  }
}

interface IdRange {
  readonly from: string;
  /** Exclusive upper bound. */
  readonly to: string;
}

/** Lists keys with data from before a time. */
async function listOldKeys(applicationId: string, before: number, count: number, queries: Queries): Promise<string[]> {
  const rows = await queries
    .selectFrom("metric_keys")
    .select("key")
    .where("application_id", "=", applicationId)
    .where("earliest_at", "<", before)
    .limit(count)
    .execute();
  return rows.map(({ key }) => key);
}

/** Deletes some chunks of a key, and subtracts their events from its totals. @returns how many */
async function deleteChunks(
  applicationId: string,
  key: string,
  { from, to }: IdRange,
  count: number,
  queries: Queries,
): Promise<number> {
  const old = await queries
    .selectFrom("metric_chunks")
    .select(["id", "event_count", chunkBytes.as("bytes")])
    .where("application_id", "=", applicationId)
    .where("id", ">=", from)
    .where("id", "<", to)
    .limit(count)
    .execute();
  const ids = old.map(({ id }) => id);
  if (ids.length === 0) return 0;
  await queries
    .deleteFrom("metric_chunks")
    .where("application_id", "=", applicationId)
    .where("id", "in", ids)
    .execute();
  const events = old.reduce((sum, { event_count }) => sum + event_count, 0);
  await queries
    .updateTable("metric_keys")
    .set({ event_count: sql`event_count - ${events}` })
    .where("application_id", "=", applicationId)
    .where("key", "=", key)
    .execute();
  await addStoredBytes(applicationId, key, -sumOfBytes(old), queries);
  return ids.length;
}

function sumOfBytes(rows: readonly { readonly bytes: number }[]): number {
  return rows.reduce((sum, { bytes }) => sum + Number(bytes), 0);
}

/** Finds the first roll-up of a range. */
async function findFirstRollup(
  applicationId: string,
  { from, to }: IdRange,
  queries: Queries,
): Promise<string | undefined> {
  const row = await queries
    .selectFrom("metric_rollups")
    .select("id")
    .where("application_id", "=", applicationId)
    .where("id", ">=", from)
    .where("id", "<", to)
    .orderBy("id")
    .limit(1)
    .executeTakeFirst();
  return row?.id;
}

/** Deletes some roll-ups of a key, and subtracts their bytes from its totals. @returns how many */
async function deleteRollups(
  applicationId: string,
  key: string,
  { from, to }: IdRange,
  count: number,
  queries: Queries,
): Promise<number> {
  const old = await queries
    .selectFrom("metric_rollups")
    .select(["id", rollupBytes.as("bytes")])
    .where("application_id", "=", applicationId)
    .where("id", ">=", from)
    .where("id", "<", to)
    .limit(count)
    .execute();
  const ids = old.map(({ id }) => id);
  if (ids.length === 0) return 0;
  await queries
    .deleteFrom("metric_rollups")
    .where("application_id", "=", applicationId)
    .where("id", "in", ids)
    .execute();
  await addStoredBytes(applicationId, key, -sumOfBytes(old), queries);
  return ids.length;
}

/** Records that the key has no data from before a time. */
async function updateEarliest(applicationId: string, key: string, earliestAt: number, queries: Queries): Promise<void> {
  await queries
    .updateTable("metric_keys")
    .set({ earliest_at: earliestAt })
    .where("application_id", "=", applicationId)
    .where("key", "=", key)
    .execute();
}

/** Deletes a key without events. */
async function deleteKey(applicationId: string, key: string, queries: Queries): Promise<void> {
  await queries
    .deleteFrom("metric_keys")
    .where("application_id", "=", applicationId)
    .where("key", "=", key)
    .where("event_count", "=", 0)
    .execute();
}

/** Deletes some handles whose ids sort before this one. @returns how many */
async function deleteHandles(
  applicationId: string,
  beforeId: string,
  count: number,
  queries: Queries,
): Promise<number> {
  const old = await queries
    .selectFrom("metric_handles")
    .select("id")
    .where("application_id", "=", applicationId)
    .where("id", "<", beforeId)
    .orderBy("id")
    .limit(count)
    .execute();
  const ids = old.map(({ id }) => id);
  if (ids.length === 0) return 0;
  await queries
    .deleteFrom("metric_handles")
    .where("application_id", "=", applicationId)
    .where("id", "in", ids)
    .execute();
  return ids.length;
}
