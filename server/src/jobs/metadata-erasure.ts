import { sql } from "kysely";
import type { Database, Queries } from "../db/database.ts";
import { attachedTables } from "../db/owned-tables.ts";
import { compilable, prepareShapes } from "../db/prepared.ts";
import { isKey } from "../db/search/row-keys.ts";
import type { AttachedTable } from "../db/tables.ts";
import { deleteSomeRows } from "./owned-rows.ts";

/**
 * Deleting an object hides its metadata immediately. The transaction deletes this many rows; background work or
 * maintenance deletes the rest.
 */
const rowsPerStep = 250;

/**
 * Deletes the metadata of an object in the transaction that deletes the object, up to a bounded number of rows.
 *
 * @returns false if rows remain, which are recorded for {@link finishErasure}
 */
export async function eraseMetadataOf(applicationId: string, objectId: string, queries: Queries): Promise<boolean> {
  if (await eraseSome(applicationId, objectId, queries)) return true;
  await queries
    .insertInto("unfinished_erasures")
    .values({ application_id: applicationId, object_id: objectId })
    .execute();
  return false;
}

/** Deletes the remaining metadata of an object in bounded steps. Can be interrupted and restarted at any time. */
export async function finishErasure(
  applicationId: string,
  objectId: string,
  database: Database,
  signal?: AbortSignal,
): Promise<void> {
  for (let isDone = false; !isDone; ) {
    signal?.throwIfAborted();
    isDone = await database.write(async ({ queries }) => {
      if (!(await eraseSome(applicationId, objectId, queries))) return false;
      await deleteSomeRows("unfinished_erasures", { application_id: applicationId, object_id: objectId }, 1, queries);
      return true;
    });
  }
}

/** Lists deleted objects with remaining metadata, of all applications. */
export function listUnfinishedErasures(
  count: number,
  queries: Queries,
): Promise<{ application_id: string; object_id: string }[]> {
  return queries.selectFrom("unfinished_erasures").selectAll().limit(count).execute();
}

/** @returns true if no row remains */
async function eraseSome(applicationId: string, objectId: string, queries: Queries): Promise<boolean> {
  const owner = { application_id: applicationId, object_id: objectId };
  for (const table of attachedTables(objectId)) {
    if ((await deleteSomeRows(table, owner, rowsPerStep, queries)) >= rowsPerStep) return false;
  }
  return true;
}

/** Deletes some of the metadata in a user's slots, on any object. @returns the number of deleted rows */
export function deleteSomeOwnSlots(
  applicationId: string,
  userId: string,
  count: number,
  queries: Queries,
): Promise<number> {
  // Repeats the condition of the partial index, which SQLite cannot derive from a bound value.
  return deleteSomeRows(
    "metadata",
    { application_id: applicationId, slot: userId },
    count,
    queries,
    sql`and slot <> ''`,
  );
}

/** Deletes some of the locations that a user has set on shared metadata. @returns the number of rows */
export async function clearSomeLocations(
  applicationId: string,
  userId: string,
  count: number,
  queries: Queries,
): Promise<number> {
  const located = await queries
    .selectFrom("metadata")
    .select(["object_id", "key"])
    .where("application_id", "=", applicationId)
    .where("setter_id", "=", userId)
    .limit(count)
    .execute();
  await Promise.all(located.map((item) => forgetPlace(applicationId, { ...item, slot: "" }, queries)));
  return located.length;
}

async function forgetPlace(
  applicationId: string,
  item: { readonly object_id: string; readonly slot: string; readonly key: string },
  queries: Queries,
): Promise<void> {
  await sql`
    update metadata
    set setter_id = null, lat = null, lng = null, cell = null, seen_lat = null, seen_lng = null, seen_cell = null
    where application_id = ${applicationId} and ${isKey(item)}`.execute(queries);
}

/**
 * Deletes some of the metadata of a few objects.
 *
 * @returns false if rows may remain
 */
export async function deleteSomeOfObjects(
  applicationId: string,
  objectIds: readonly string[],
  queries: Queries,
): Promise<boolean> {
  const attached = objectIds.flatMap((objectId) => attachedTables(objectId).map((table) => ({ table, objectId })));
  const isAny = await Promise.all(
    attached.map(({ table, objectId }) => hasAny(table, applicationId, objectId, queries)),
  );
  let left = rowsPerStep;
  for (const { table, objectId: object_id } of attached.filter((_, at) => isAny[at])) {
    left -= await deleteSomeRows(table, { application_id: applicationId, object_id }, left, queries);
    if (left <= 0) return false;
  }
  return true;
}

const runShape = prepareShapes();

async function hasAny(
  table: AttachedTable,
  applicationId: string,
  objectId: string,
  queries: Queries,
): Promise<boolean> {
  const found = await runShape<unknown>(queries, `any of ${table}`, { applicationId, objectId }, (parameter) =>
    compilable(
      sql`select 1 as found from ${sql.table(table)}
        where application_id = ${parameter("applicationId")} and object_id = ${parameter("objectId")} limit 1`,
      queries,
    ),
  );
  return found.length > 0;
}
