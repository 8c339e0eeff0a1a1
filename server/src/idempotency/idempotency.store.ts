import { type OnConflictBuilder, sql } from "kysely";
import type { Database, Queries } from "../db/database.ts";
import { prepare } from "../db/prepared.ts";
import { deleteEnded } from "../db/steps.ts";
import type { Tables } from "../db/tables.ts";
import { noUsage, type Usage } from "./idempotency.usage.ts";

/** The caller of a key: a user or a device; the other id is empty. */
export interface KeyOwner {
  readonly applicationId: string;
  readonly userId: string;
  readonly deviceId: string;
  readonly key: string;
}

/** The stored data about a key and its caller, before a call is carried out. */
export interface KeyState {
  /** The sealed response to the call with this key, unless it has expired. */
  readonly reply: string | undefined;
  /** The caller's total. */
  readonly usage: Usage;
  /** The part of that total which expires in the same hour as a response stored now. */
  readonly inHour: Pick<Usage, "bytes" | "keys">;
}

/** @param endsAt the end of the hour in which a response stored now expires */
export async function findKeyState(owner: KeyOwner, now: number, endsAt: number, queries: Queries): Promise<KeyState> {
  const [row] = await find(queries, { ...owner, now, endsAt });
  if (row === undefined) return { reply: undefined, usage: noUsage, inHour: noUsage };
  return {
    reply: row.reply ?? undefined,
    usage: {
      bytes: Number(row.bytes),
      keys: Number(row.keys),
      endsAt: row.ends_at === null ? undefined : Number(row.ends_at),
    },
    inHour: { bytes: Number(row.hour_bytes), keys: Number(row.hour_keys) },
  };
}

/**
 * Counts a response before it is stored. The row lock serializes the keyed writes of one caller, which prevents
 * deadlocks.
 *
 * @returns the caller's stored responses in this hour, including this one; undefined when the user was deleted
 */
export async function countStoredResponse(
  owner: KeyOwner,
  bytes: number,
  endsAt: number,
  queries: Queries,
): Promise<Pick<Usage, "bytes" | "keys"> | undefined> {
  const [row] = await (owner.userId === "" ? countOfDevice : countOfUser)(queries, { ...owner, bytes, endsAt });
  return row && { bytes: Number(row.bytes), keys: Number(row.keys) };
}

/** @returns false when an unexpired response is already stored */
export async function insertStoredResponse(
  owner: KeyOwner,
  reply: string,
  now: number,
  expiresAt: number,
  queries: Queries,
): Promise<boolean> {
  const inserted = await insert(queries, { ...owner, reply, now, expiresAt });
  return inserted.length === 1;
}

/** Deletes expired rows. */
export async function deleteExpiredReplies(now: number, database: Database, signal?: AbortSignal): Promise<void> {
  await deleteEnded("kept_replies", sql`"expires_at" <= ${now}`, database, signal);
}

interface KeyStateRow {
  readonly reply: string | null;
  readonly bytes: number;
  readonly keys: number;
  readonly ends_at: number | null;
  readonly hour_bytes: number;
  readonly hour_keys: number;
}

const find = prepare<KeyOwner & { now: number; endsAt: number }, KeyStateRow>((queries, parameter) =>
  queries
    .selectFrom("idempotency_usage")
    .select(({ selectFrom }) => [
      selectFrom("kept_replies")
        .select("reply")
        .where("application_id", "=", parameter("applicationId"))
        .where("user_id", "=", parameter("userId"))
        .where("device_id", "=", parameter("deviceId"))
        .where("key", "=", parameter("key"))
        .where("expires_at", ">", parameter("now"))
        .as("reply"),
      sql<number>`coalesce(sum(bytes), 0)`.as("bytes"),
      sql<number>`coalesce(sum(keys), 0)`.as("keys"),
      sql<number | null>`min(ends_at)`.as("ends_at"),
      sql<number>`coalesce(sum(case when ends_at = ${parameter("endsAt")} then bytes end), 0)`.as("hour_bytes"),
      sql<number>`coalesce(sum(case when ends_at = ${parameter("endsAt")} then keys end), 0)`.as("hour_keys"),
    ])
    .where("application_id", "=", parameter("applicationId"))
    .where("user_id", "=", parameter("userId"))
    .where("device_id", "=", parameter("deviceId"))
    .where("ends_at", ">", parameter("now")),
);

type Count = KeyOwner & { readonly bytes: number; readonly endsAt: number };

const countOfDevice = prepare<Count, { bytes: number; keys: number }>((queries, parameter) =>
  queries
    .insertInto("idempotency_usage")
    .values({
      application_id: parameter("applicationId"),
      user_id: parameter("userId"),
      device_id: parameter("deviceId"),
      ends_at: parameter("endsAt"),
      bytes: parameter("bytes"),
      keys: 1,
    })
    .onConflict(addToHour)
    .returning(["bytes", "keys"]),
);

const countOfUser = prepare<Count, { bytes: number; keys: number }>((queries, parameter) =>
  queries
    .insertInto("idempotency_usage")
    .columns(["application_id", "user_id", "device_id", "ends_at", "bytes", "keys"])
    .expression(({ selectFrom }) =>
      selectFrom("users")
        .select([
          "application_id",
          "id",
          sql<string>`''`.as("device_id"),
          sql<number>`cast(${parameter("endsAt")} as bigint)`.as("ends_at"),
          sql<number>`cast(${parameter("bytes")} as bigint)`.as("bytes"),
          sql<number>`1`.as("keys"),
        ])
        .where("application_id", "=", parameter("applicationId"))
        .where("id", "=", parameter("userId"))
        .where("deleted_at", "is", null),
    )
    .onConflict(addToHour)
    .returning(["bytes", "keys"]),
);

function addToHour(conflict: OnConflictBuilder<Tables, "idempotency_usage">) {
  return conflict.columns(["application_id", "user_id", "device_id", "ends_at"]).doUpdateSet({
    bytes: sql<number>`idempotency_usage.bytes + excluded.bytes`,
    keys: sql<number>`idempotency_usage.keys + excluded.keys`,
  });
}

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
