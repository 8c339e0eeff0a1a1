import type { Insertable, Selectable } from "kysely";
import type { Queries } from "../../db/database.ts";
import { prepare } from "../../db/prepared.ts";
import type { Tables } from "../../db/tables.ts";

export type HandleRow = Selectable<Tables["metric_handles"]>;

const insertPrepared = prepare<HandleRow, never>((queries, parameter) =>
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
  await insertPrepared(queries, row);
}

const endPrepared = prepare<
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
  const [ended] = await endPrepared(queries, { applicationId, id, deviceId, userId, now });
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
