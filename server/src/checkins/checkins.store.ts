import type { Queries } from "../db/database.ts";
import { readPage } from "../db/page.ts";
import { prepare } from "../db/prepared.ts";
import type { CheckinRow } from "../db/tables.ts";
import type { DateRange } from "../lib/dates.ts";
import type { Key, Page, Position } from "../lib/keyset.ts";

export interface CheckinFilters {
  readonly created: DateRange | undefined;
  readonly lastModified: DateRange | undefined;
}

export async function insertCheckin(row: CheckinRow, queries: Queries): Promise<void> {
  await insert(queries, row);
}

/** A check-in that this user may read. */
export async function findCheckin(
  applicationId: string,
  readerId: string,
  id: string,
  queries: Queries,
): Promise<CheckinRow | undefined> {
  const [row] = await findById(queries, { applicationId, id });
  return row?.user_id === readerId ? row : undefined;
}

/** A page of the user's check-ins, newest first. */
export async function listCheckins(
  applicationId: string,
  userId: string,
  { created, lastModified }: CheckinFilters,
  position: Position,
  size: number,
  queries: Queries,
): Promise<Page<CheckinRow>> {
  let query = queries
    .selectFrom("checkins")
    .selectAll()
    .where("application_id", "=", applicationId)
    .where("user_id", "=", userId);
  if (created?.start !== undefined) query = query.where("created_at", ">=", created.start);
  if (created?.end !== undefined) query = query.where("created_at", "<=", created.end);
  if (lastModified?.start !== undefined) query = query.where("modified_at", ">=", lastModified.start);
  if (lastModified?.end !== undefined) query = query.where("modified_at", "<=", lastModified.end);
  return readPage(query, ["created_at", "id"], position, size);
}

/** Where a check-in stands in its listing. */
export function checkinKey({ created_at, id }: CheckinRow): Key {
  return [created_at, id];
}

const insert = prepare<CheckinRow, unknown>((queries, parameter) =>
  queries.insertInto("checkins").values({
    application_id: parameter("application_id"),
    id: parameter("id"),
    user_id: parameter("user_id"),
    lat: parameter("lat"),
    lng: parameter("lng"),
    comment: parameter("comment"),
    description: parameter("description"),
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
