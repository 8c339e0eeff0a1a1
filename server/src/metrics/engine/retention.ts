import { sql } from "kysely";
import type { Database, Queries } from "../../db/database.ts";
import { firstIdAt } from "../../lib/ids.ts";
import { startOf } from "../../lib/spans.ts";
import { chunksBefore, rollupsBefore, rollupsOf, seriesOf } from "./row-ids.ts";
import { addStoredBytes, chunkBytes, rollupBytes } from "./stored-bytes.ts";

const keysAtOnce = 100;

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

  const handles = { from: "", to: firstIdAt("MetricEvent", before) };
  await repeat(async (queries) => (await deleteRows("metric_handles", applicationId, handles, queries)).length);

  const earliest = startOf("hour", before);
  for (;;) {
    const keys = await listOldKeys(applicationId, earliest, keysAtOnce, database.reads);
    if (keys.length === 0) return;
    for (const key of keys) {
      const seriesId = seriesOf(key);
      const chunks = chunksBefore(seriesId, before);
      await repeat((queries) => deleteOfKey("metric_chunks", applicationId, key, chunks, queries));

      let left = rollupsOf(seriesId);
      let rollupsLeft = 0;
      for (;;) {
        const first = await findFirstRollup(applicationId, left, database.reads);
        if (first === undefined) break;
        const { from, to, next } = rollupsBefore(first, before);
        await repeat((queries) => deleteOfKey("metric_rollups", applicationId, key, { from, to }, queries));
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

/** The rows deleted per transaction, few where they may be large, and what each counted in the totals of its key. */
const deletions = {
  metric_handles: { count: 500, events: sql`0`, bytes: sql`0` },
  metric_chunks: { count: 50, events: sql`event_count`, bytes: chunkBytes },
  metric_rollups: { count: 50, events: sql`0`, bytes: rollupBytes },
} as const;

interface DeletedRow {
  readonly id: string;
  readonly events: number;
  readonly bytes: number;
}

/** Deletes some rows in a range of ids, which are looked up first, because PostgreSQL plans that without table statistics. */
async function deleteRows(
  table: keyof typeof deletions,
  applicationId: string,
  { from, to }: IdRange,
  queries: Queries,
): Promise<readonly DeletedRow[]> {
  const { count, events, bytes } = deletions[table];
  const { rows } = await sql<DeletedRow>`
    select id, ${events} as events, ${bytes} as bytes from ${sql.table(table)}
    where application_id = ${applicationId} and id >= ${from} and id < ${to} order by id limit ${sql.lit(count)}`.execute(
    queries,
  );
  if (rows.length === 0) return rows;
  const ids = sql.join(rows.map(({ id }) => id));
  await sql`delete from ${sql.table(table)} where application_id = ${applicationId} and id in (${ids})`.execute(
    queries,
  );
  return rows;
}

/** Deletes some chunks or roll-ups of a key, and subtracts them from its totals. @returns how many */
async function deleteOfKey(
  table: "metric_chunks" | "metric_rollups",
  applicationId: string,
  key: string,
  range: IdRange,
  queries: Queries,
): Promise<number> {
  const deleted = await deleteRows(table, applicationId, range, queries);
  const events = deleted.reduce((sum, row) => sum + Number(row.events), 0);
  const bytes = deleted.reduce((sum, row) => sum + Number(row.bytes), 0);
  if (events > 0)
    await queries
      .updateTable("metric_keys")
      .set({ event_count: sql`event_count - ${events}` })
      .where("application_id", "=", applicationId)
      .where("key", "=", key)
      .execute();
  await addStoredBytes(applicationId, key, -bytes, queries);
  return deleted.length;
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
