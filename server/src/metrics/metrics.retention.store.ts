import { sql } from "kysely";
import type { Queries } from "../db/database.ts";

interface IdRange {
  readonly from: string;
  /** Not in the range any more. */
  readonly to: string;
}

/** Keys of which something is kept that happened before. */
export async function listOldKeys(
  applicationId: string,
  before: number,
  count: number,
  queries: Queries,
): Promise<string[]> {
  const rows = await queries
    .selectFrom("metric_keys")
    .select("key")
    .where("application_id", "=", applicationId)
    .where("earliest_at", "<", before)
    .limit(count)
    .execute();
  return rows.map(({ key }) => key);
}

/** Deletes some chunks of a key, and counts their events off. @returns how many */
export async function deleteChunks(
  applicationId: string,
  key: string,
  { from, to }: IdRange,
  count: number,
  queries: Queries,
): Promise<number> {
  const old = await queries
    .selectFrom("metric_chunks")
    .select(["id", "event_count"])
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
  return ids.length;
}

/** The first roll-up of a range. */
export async function findFirstRollup(
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

/** Deletes some roll-ups. @returns how many */
export async function deleteRollups(
  applicationId: string,
  { from, to }: IdRange,
  count: number,
  queries: Queries,
): Promise<number> {
  const old = await queries
    .selectFrom("metric_rollups")
    .select("id")
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
  return ids.length;
}

/** Nothing is kept of the key any more that happened before. */
export async function updateEarliest(
  applicationId: string,
  key: string,
  earliestAt: number,
  queries: Queries,
): Promise<void> {
  await queries
    .updateTable("metric_keys")
    .set({ earliest_at: earliestAt })
    .where("application_id", "=", applicationId)
    .where("key", "=", key)
    .execute();
}

/** Deletes a key that has no events. */
export async function deleteKey(applicationId: string, key: string, queries: Queries): Promise<void> {
  await queries
    .deleteFrom("metric_keys")
    .where("application_id", "=", applicationId)
    .where("key", "=", key)
    .where("event_count", "=", 0)
    .execute();
}

/** Deletes some of the handles whose ids sort before this one. @returns how many */
export async function deleteHandles(
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
