import { sql } from "kysely";
import type { Queries } from "../db/database.ts";
import { type Dialect, isForeignKeyViolation } from "../db/dialect.ts";
import { prepare } from "../db/prepared.ts";
import type { MetadataRow } from "../db/tables.ts";
import { ApiError } from "../lib/errors.ts";
import { compareKeys } from "../lib/keyset.ts";
import type { ReadItem } from "./metadata.contract.ts";
import type { Bag } from "./metadata.objects.ts";
import { type ByKey, findItem } from "./metadata.reads.store.ts";

/**
 * Replaces the value and all fields of an item, except the time of creation.
 *
 * @returns true when the key is new
 */
export async function putItem(row: MetadataRow, queries: Queries): Promise<boolean> {
  // A concurrent insert or delete makes an attempt fail. A second attempt is rare, and more are not expected.
  for (let turns = 0; turns < 100; turns += 1) {
    if ((await update(queries, row)).length > 0) return false;
    if ((await insertNew(queries, row).catch(refuseOrphan)).length > 0) return true;
  }
  throw new Error("The key comes and goes");
}

/** Writes values of different keys: see {@link putItem}. */
export async function putItems(rows: readonly MetadataRow[], queries: Queries): Promise<void> {
  // Sorted, so that concurrent calls with the same keys do not deadlock.
  const sorted = rows.toSorted((a, b) => compareKeys([a.key], [b.key]));
  await queries
    .insertInto("metadata")
    .values(sorted)
    .onConflict((conflict) =>
      conflict.columns(["application_id", "object_id", "slot", "key"]).doUpdateSet(({ ref }) => ({
        value: ref("excluded.value"),
        number: ref("excluded.number"),
        setter_id: ref("excluded.setter_id"),
        lat: ref("excluded.lat"),
        lng: ref("excluded.lng"),
        cell: ref("excluded.cell"),
        seen_lat: ref("excluded.seen_lat"),
        seen_lng: ref("excluded.seen_lng"),
        seen_cell: ref("excluded.seen_cell"),
        modified_at: ref("excluded.modified_at"),
      })),
    )
    .execute()
    .catch(refuseOrphan);
}

/**
 * Adds to the number of a key, or creates it.
 *
 * @returns undefined when the value is not a number
 */
export async function incrementItem(
  applicationId: string,
  { objectId, slot }: Bag,
  { key, delta, at }: { readonly key: string; readonly delta: number; readonly at: number },
  queries: Queries,
): Promise<ReadItem | undefined> {
  const [changed] = await increment(queries, { applicationId, objectId, slot, key, delta, at }).catch(refuseOrphan);
  if (changed === undefined) return undefined;
  if (changed.setter_id === null) return { ...changed, is_location_shown: 1 };
  // Because RETURNING has no subqueries in a distributed database.
  return findItem(applicationId, { applicationId, objectId, slot }, key, queries);
}

/** Locks an existing item until the transaction commits. */
export async function lockItem(
  dialect: Dialect,
  applicationId: string,
  { objectId, slot }: Bag,
  key: string,
  queries: Queries,
): Promise<void> {
  if (!dialect.hasRowLocks) return;
  await sql`select 1 from metadata where application_id = ${applicationId} and object_id = ${objectId}
    and slot = ${slot} and "key" = ${key} for update`.execute(queries);
}

/** @returns false when the item does not exist */
export async function deleteItem(applicationId: string, bag: Bag, key: string, queries: Queries): Promise<boolean> {
  return (await deleteByKey(queries, { ...bag, applicationId, key })).length > 0;
}

/** The application was erased after the token check. */
function refuseOrphan(error: unknown): never {
  throw isForeignKeyViolation(error) ? new ApiError("AuthAccessTokenInvalid") : error;
}

const update = prepare<MetadataRow, { key: string }>((queries, parameter) =>
  queries
    .updateTable("metadata")
    .set({
      value: parameter("value"),
      number: parameter("number"),
      setter_id: parameter("setter_id"),
      lat: parameter("lat"),
      lng: parameter("lng"),
      cell: parameter("cell"),
      seen_lat: parameter("seen_lat"),
      seen_lng: parameter("seen_lng"),
      seen_cell: parameter("seen_cell"),
      modified_at: parameter("modified_at"),
    })
    .where("application_id", "=", parameter("application_id"))
    .where("object_id", "=", parameter("object_id"))
    .where("slot", "=", parameter("slot"))
    .where("key", "=", parameter("key"))
    .returning("key"),
);

const insertNew = prepare<MetadataRow, { key: string }>((queries, parameter) =>
  queries
    .insertInto("metadata")
    .values({
      application_id: parameter("application_id"),
      object_id: parameter("object_id"),
      slot: parameter("slot"),
      key: parameter("key"),
      value: parameter("value"),
      number: parameter("number"),
      setter_id: parameter("setter_id"),
      lat: parameter("lat"),
      lng: parameter("lng"),
      cell: parameter("cell"),
      seen_lat: parameter("seen_lat"),
      seen_lng: parameter("seen_lng"),
      seen_cell: parameter("seen_cell"),
      created_at: parameter("created_at"),
      modified_at: parameter("modified_at"),
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning("key"),
);

/** One statement, so that concurrent increments add up. */
const increment = prepare<ByKey & { delta: number; at: number }, MetadataRow>((queries, parameter) =>
  queries
    .insertInto("metadata")
    .values({
      application_id: parameter("applicationId"),
      object_id: parameter("objectId"),
      slot: parameter("slot"),
      key: parameter("key"),
      number: parameter("delta"),
      created_at: parameter("at"),
      modified_at: parameter("at"),
    })
    .onConflict((conflict) =>
      conflict
        .columns(["application_id", "object_id", "slot", "key"])
        .doUpdateSet({
          value: null,
          number: sql<number>`metadata.number + excluded.number`,
          modified_at: sql<number>`excluded.modified_at`,
        })
        .where("metadata.number", "is not", null),
    )
    .returningAll(),
);

const deleteByKey = prepare<ByKey, { key: string }>((queries, parameter) =>
  queries
    .deleteFrom("metadata")
    .where("application_id", "=", parameter("applicationId"))
    .where("object_id", "=", parameter("objectId"))
    .where("slot", "=", parameter("slot"))
    .where("key", "=", parameter("key"))
    .returning("key"),
);
