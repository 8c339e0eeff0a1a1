import { sql } from "kysely";
import type { Queries } from "../db/database.ts";
import { prepare } from "../db/prepared.ts";
import type { CheckinRow } from "../db/tables.ts";

export async function insertCheckin(row: CheckinRow, queries: Queries): Promise<void> {
  await insert(queries, row);
}

/** A check-in that this user may read: the user's own, or one that its owner shares. */
export async function findCheckin(
  applicationId: string,
  readerId: string,
  id: string,
  queries: Queries,
): Promise<CheckinRow | undefined> {
  const [row] = await findById(queries, { applicationId, id });
  if (row === undefined || row.user_id === readerId) return row;
  return row.read_permission === 1 && (await isShownToOthers(row, queries)) ? row : undefined;
}

/** A check-in regardless of its permissions. */
export async function findLiveCheckin(
  applicationId: string,
  id: string,
  queries: Queries,
): Promise<CheckinRow | undefined> {
  const [row] = await findLive(queries, { applicationId, id });
  return row;
}

/** Overwrites a check-in. */
export async function updateCheckin(row: CheckinRow, queries: Queries): Promise<void> {
  const { application_id, id, ...changed } = row;
  await queries
    .updateTable("checkins")
    .set(changed)
    .where("application_id", "=", application_id)
    .where("id", "=", id)
    .execute();
}

/** @returns false when it was already deleted */
export async function deleteCheckin(applicationId: string, id: string, queries: Queries): Promise<boolean> {
  const deleted = await queries
    .deleteFrom("checkins")
    .where("application_id", "=", applicationId)
    .where("id", "=", id)
    .executeTakeFirst();
  return deleted.numDeletedRows === 1n;
}

/**
 * Whether others see a shared check-in: not while its owner is being deleted, and with locationFuzzing not before it
 * has its fuzzed location. A subquery, so that the engine evaluates it row by row and keeps the order of the listing.
 * "<> 0" rather than "= 1": for "<>" PostgreSQL estimates that nearly all rows pass, for "=" that nearly none do, and
 * then it would sort them all instead of walking an index for one page.
 */
export const isShownToOthersSql = sql<boolean>`(
  select case when owner.location_fuzzing = 0 or checkins.seen_lat is not null then 1 else 0 end
  from users as owner
  where owner.application_id = checkins.application_id and owner.id = checkins.user_id and owner.deleted_at is null
) <> 0`;

/** Whether the owner is not being deleted. A subquery for the same reasons. */
export const isOwnerThereSql = sql<boolean>`(
  select case when owner.deleted_at is null then 1 else 0 end
  from users as owner
  where owner.application_id = checkins.application_id and owner.id = checkins.user_id
) <> 0`;

async function isShownToOthers({ application_id, id }: CheckinRow, queries: Queries): Promise<boolean> {
  return (await findShown(queries, { applicationId: application_id, id })).length > 0;
}

const findShown = prepare<{ applicationId: string; id: string }, { id: string }>((queries, parameter) =>
  queries
    .selectFrom("checkins")
    .select("id")
    .where("application_id", "=", parameter("applicationId"))
    .where("id", "=", parameter("id"))
    .where(isShownToOthersSql),
);

const insert = prepare<CheckinRow, unknown>((queries, parameter) =>
  queries.insertInto("checkins").values({
    application_id: parameter("application_id"),
    id: parameter("id"),
    user_id: parameter("user_id"),
    setter_id: parameter("setter_id"),
    lat: parameter("lat"),
    lng: parameter("lng"),
    cell: parameter("cell"),
    seen_lat: parameter("seen_lat"),
    seen_lng: parameter("seen_lng"),
    seen_cell: parameter("seen_cell"),
    comment: parameter("comment"),
    description: parameter("description"),
    tag: parameter("tag"),
    read_permission: parameter("read_permission"),
    write_permission: parameter("write_permission"),
    created_at: parameter("created_at"),
    modified_at: parameter("modified_at"),
  }),
);

const findById = prepare<{ applicationId: string; id: string }, CheckinRow>((queries, parameter) =>
  queries
    .selectFrom("checkins")
    .selectAll()
    .where("application_id", "=", parameter("applicationId"))
    .where("id", "=", parameter("id")),
);

const findLive = prepare<{ applicationId: string; id: string }, CheckinRow>((queries, parameter) =>
  queries
    .selectFrom("checkins")
    .selectAll()
    .where("application_id", "=", parameter("applicationId"))
    .where("id", "=", parameter("id"))
    .where(isOwnerThereSql),
);
