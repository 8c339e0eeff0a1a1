import type { Database, Queries } from "../db/database.ts";
import { prepare } from "../db/prepared.ts";

/** Whose key it is: of a user, or of a device; the other one is empty. */
export interface KeyOwner {
  readonly applicationId: string;
  readonly userId: string;
  readonly deviceId: string;
  readonly key: string;
}

/** The sealed reply of a call with this key, unless it has expired. */
export async function findKeptReply(owner: KeyOwner, now: number, queries: Queries): Promise<string | undefined> {
  const [row] = await find(queries, { ...owner, now });
  return row?.reply;
}

/** @returns false when there is one already that has not expired */
export async function insertKeptReply(
  owner: KeyOwner,
  reply: string,
  now: number,
  expiresAt: number,
  queries: Queries,
): Promise<boolean> {
  const inserted = await insert(queries, { ...owner, reply, now, expiresAt });
  return inserted.length === 1;
}

/** @returns false when the user has been deleted */
export async function isUser({ applicationId, userId }: KeyOwner, queries: Queries): Promise<boolean> {
  const found = await findUser(queries, { applicationId, userId });
  return found.length === 1;
}

const rowsPerStep = 1_000;

/** Drops what has expired, a bounded number of rows in each transaction. */
export async function deleteExpiredReplies(now: number, database: Database, signal?: AbortSignal): Promise<void> {
  let rows: number;
  do {
    signal?.throwIfAborted();
    rows = await database.write(async ({ queries }) => {
      const expired = await queries
        .selectFrom("kept_replies")
        .select(["application_id", "user_id", "device_id", "key"])
        .where("expires_at", "<=", now)
        .limit(rowsPerStep)
        .execute();
      for (const row of expired) {
        await queries
          .deleteFrom("kept_replies")
          .where("application_id", "=", row.application_id)
          .where("user_id", "=", row.user_id)
          .where("device_id", "=", row.device_id)
          .where("key", "=", row.key)
          .where("expires_at", "<=", now)
          .execute();
      }
      return expired.length;
    });
  } while (rows === rowsPerStep);
}

const find = prepare<KeyOwner & { now: number }, { reply: string }>((queries, parameter) =>
  queries
    .selectFrom("kept_replies")
    .select("reply")
    .where("application_id", "=", parameter("applicationId"))
    .where("user_id", "=", parameter("userId"))
    .where("device_id", "=", parameter("deviceId"))
    .where("key", "=", parameter("key"))
    .where("expires_at", ">", parameter("now")),
);

const findUser = prepare<Pick<KeyOwner, "applicationId" | "userId">, { id: string }>((queries, parameter) =>
  queries
    .selectFrom("users")
    .select("id")
    .where("application_id", "=", parameter("applicationId"))
    .where("id", "=", parameter("userId"))
    .where("deleted_at", "is", null),
);

const insert = prepare<KeyOwner & { reply: string; now: number; expiresAt: number }, { key: string }>(
  (queries, parameter) =>
    queries
      .insertInto("kept_replies")
      .values({
        application_id: parameter("applicationId"),
        user_id: parameter("userId"),
        device_id: parameter("deviceId"),
        key: parameter("key"),
        reply: parameter("reply"),
        expires_at: parameter("expiresAt"),
      })
      .onConflict((conflict) =>
        conflict
          .columns(["application_id", "user_id", "device_id", "key"])
          .doUpdateSet(({ ref }) => ({ reply: ref("excluded.reply"), expires_at: ref("excluded.expires_at") }))
          .where("kept_replies.expires_at", "<=", parameter("now")),
      )
      .returning("key"),
);
