import type { Insertable, Selectable } from "kysely";
import type { Queries } from "../../db/database.ts";
import { prepare, prepareInsert, prepareShapes } from "../../db/prepared.ts";
import { rowLimit } from "../../db/row-limit.ts";
import { listLengthMax, padList } from "../../db/search/list-lengths.ts";
import type { Tables } from "../../db/tables.ts";

/**
 * A stored event: its key, its time, then alternating names and values. A flat list instead of an object, because
 * clients choose the names, and `__proto__` is a valid one.
 */
export type StoredEvent = readonly [key: string, occurredAt: number, ...namesAndValues: (string | number | boolean)[]];

/** The payload of one request in the inbox. Users and devices are salted hashes (`salted-hashes.ts`). */
export interface InboxPayload {
  readonly device: string;
  readonly user: string | null;
  readonly events: readonly StoredEvent[];
  /** Only the values are added: the events themselves were counted before, and there are no raw events. */
  readonly isEnd?: true;
}

/** The name of the value that contains the duration of a timed event. */
export const elapsedName = "elapsedTimeInMs";

export function writePayload(payload: InboxPayload): string {
  return JSON.stringify(payload);
}

export function readPayload(text: string): InboxPayload {
  return JSON.parse(text); // written by `writePayload`
}

/** An event in a chunk, which already has the key: its index in its request, then the rest of {@link StoredEvent}. */
export type ChunkEvent = readonly [index: number, occurredAt: number, ...namesAndValues: (string | number | boolean)[]];

/** The events of a chunk that arrived in one request. */
export interface ChunkPart {
  /** The id of the inbox row. */
  readonly id: string;
  readonly receivedAt: number;
  readonly device: string;
  readonly user: string | null;
  readonly events: ChunkEvent[];
}

export type InboxRow = Pick<Selectable<Tables["metric_inbox"]>, "application_id" | "id" | "received_at" | "payload">;

/** A row that waits for compaction. */
export type WaitingRow = Omit<InboxRow, "application_id">;

const insertPrepared = prepareInsert<InboxRow, never>((queries, parameter) =>
  queries.insertInto("metric_inbox").values({
    application_id: parameter("application_id"),
    id: parameter("id"),
    received_at: parameter("received_at"),
    payload: parameter("payload"),
  }),
);

/** Stores the events of a request in the inbox, from which the compaction takes them. */
export async function insertInboxRow(row: InboxRow, queries: Queries): Promise<void> {
  await insertPrepared(queries, row);
}

const listPrepared = prepare<{ applicationId: string; after: string; count: number }, WaitingRow>(
  (queries, parameter) =>
    queries
      .selectFrom("metric_inbox")
      .select(["id", "received_at", "payload"])
      .where("application_id", "=", parameter("applicationId"))
      .where("id", ">", parameter("after"))
      .orderBy("id")
      .limit(rowLimit(parameter("count"))),
);

/** Lists the oldest rows after an id. */
export function listInboxRows(
  applicationId: string,
  after: string,
  count: number,
  queries: Queries,
): Promise<WaitingRow[]> {
  return listPrepared(queries, { applicationId, after, count });
}

const findPrepared = prepare<{ applicationId: string; id: string }, WaitingRow>((queries, parameter) =>
  queries
    .selectFrom("metric_inbox")
    .select(["id", "received_at", "payload"])
    .where("application_id", "=", parameter("applicationId"))
    .where("id", "=", parameter("id")),
);

export async function findInboxRow(
  applicationId: string,
  id: string,
  queries: Queries,
): Promise<WaitingRow | undefined> {
  const [row] = await findPrepared(queries, { applicationId, id });
  return row;
}

const runShape = prepareShapes();

/** Deletes rows, a few hundred per statement. */
export async function deleteInboxRows(applicationId: string, ids: readonly string[], queries: Queries): Promise<void> {
  for (let from = 0; from < ids.length; from += listLengthMax) {
    const some = padList(ids.slice(from, from + listLengthMax));
    await runShape(queries, `delete ${some.length}`, { applicationId, ...some }, (parameter) =>
      queries
        .deleteFrom("metric_inbox")
        .where("application_id", "=", parameter("applicationId"))
        .where(
          "id",
          "in",
          some.map((_, index) => parameter(`${index}`)),
        ),
    );
  }
}

export type HandleRow = Selectable<Tables["metric_handles"]>;

const insertHandlePrepared = prepare<HandleRow, never>((queries, parameter) =>
  queries.insertInto("metric_handles").values({
    application_id: parameter("application_id"),
    id: parameter("id"),
    key: parameter("key"),
    device_id: parameter("device_id"),
    user_id: parameter("user_id"),
    occurred_at: parameter("occurred_at"),
    started_at: parameter("started_at"),
    expires_at: parameter("expires_at"),
  } satisfies Insertable<Tables["metric_handles"]>),
);

/** @throws a foreign key violation when the user has been deleted */
export async function insertHandle(row: HandleRow, queries: Queries): Promise<void> {
  await insertHandlePrepared(queries, row);
}

const closeHandlePrepared = prepare<
  { applicationId: string; id: string; deviceId: string; userId: string | null; now: number },
  Pick<HandleRow, "key" | "occurred_at" | "started_at">
>((queries, parameter) =>
  queries
    .updateTable("metric_handles")
    .set({ ended_at: parameter("now") })
    .where("application_id", "=", parameter("applicationId"))
    .where("id", "=", parameter("id"))
    .where("ended_at", "is", null)
    .where((row) => row.or([row("expires_at", "is", null), row("expires_at", ">=", parameter("now"))]))
    .where((row) =>
      row.or([
        row("user_id", "=", parameter("userId")),
        row.and([row("user_id", "is", null), row("device_id", "=", parameter("deviceId"))]),
      ]),
    )
    .returning(["key", "occurred_at", "started_at"]),
);

/**
 * Closes a timed event of this caller: of its user, if any, otherwise of its device. Of concurrent calls, one succeeds.
 *
 * @returns undefined when the caller has no such event, or it was closed or expired
 */
export async function closeHandle(
  applicationId: string,
  id: string,
  caller: { readonly deviceId: string; readonly userId: string | undefined },
  now: number,
  queries: Queries,
): Promise<Pick<HandleRow, "key" | "occurred_at" | "started_at"> | undefined> {
  const { deviceId, userId = null } = caller;
  const [ended] = await closeHandlePrepared(queries, { applicationId, id, deviceId, userId, now });
  return ended;
}

/** Returns which of these ids belong to individually reported events. */
export async function listHandles(
  applicationId: string,
  ids: readonly string[],
  queries: Queries,
): Promise<Pick<HandleRow, "id" | "started_at" | "ended_at">[]> {
  if (ids.length === 0) return [];
  return queries
    .selectFrom("metric_handles")
    .select(["id", "started_at", "ended_at"])
    .where("application_id", "=", applicationId)
    .where("id", "in", ids)
    .execute();
}
