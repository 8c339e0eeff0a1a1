import type { Queries } from "../db/database.ts";
import { prepare } from "../db/prepared.ts";
import type { CheckinRow } from "../db/tables.ts";
import { isOwnerThere, isShownToOthers } from "../privacy/visibility.ts";

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
  return row.read_permission === 1 && (await isShown(row, queries)) ? row : undefined;
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

async function isShown({ application_id, id }: CheckinRow, queries: Queries): Promise<boolean> {
  return (await findShown(queries, { applicationId: application_id, id })).length > 0;
}

const findShown = prepare<{ applicationId: string; id: string }, { id: string }>((queries, parameter) =>
  queries
    .selectFrom("checkins")
    .select("id")
    .where("application_id", "=", parameter("applicationId"))
    .where("id", "=", parameter("id"))
    .where(isShownToOthers("checkins")),
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
    .where(isOwnerThere("checkins")),
);
