import { setImmediate } from "node:timers/promises";
import { sql } from "kysely";
import type { Queries } from "../db/database.ts";
import { prepare } from "../db/prepared.ts";
import { equals, tieOrder } from "../db/search/conditions.ts";
import { readPage } from "../db/search/page.ts";
import { scopeStream } from "../db/search/scope.ts";
import type { Clock } from "../lib/clock.ts";
import { ApiError } from "../lib/errors.ts";
import type { IdGenerator } from "../lib/ids.ts";
import type { Page, Position } from "../lib/keyset.ts";
import { digestSecret, newApplicationKey } from "../lib/secrets.ts";

/** A key of an application without its secret; only a digest of the secret is stored. */
export interface ApplicationKey {
  readonly id: string;
  readonly label: string | null;
  readonly created_at: number;
  readonly retired_at: number | null;
  readonly generation: number;
  /** The generation of the application. A key of an earlier generation is invalid. */
  readonly key_generation: number;
}

/** A new key. `appkey` is its secret, which is shown only once. */
export interface NewApplicationKey {
  readonly id: string;
  readonly appkey: string;
  readonly label: string | null;
  readonly created_at: number;
}

/**
 * Inserts a key of the application's current generation, in the caller's transaction.
 *
 * @throws ApiError ItemDoesNotExist if the application was erased
 */
export async function insertKey(
  applicationId: string,
  label: string | null,
  { clock, ids }: { readonly clock: Clock; readonly ids: IdGenerator },
  queries: Queries,
  appkey = newApplicationKey(),
): Promise<NewApplicationKey> {
  const key = { id: ids.newId("ApplicationKey"), label, created_at: clock.now() };
  const { rows } = await sql`
    insert into application_keys (application_id, id, label, created_at, digest, token_version, generation)
    select application_id, ${key.id}, ${key.label}, ${key.created_at}, ${digestSecret(appkey)}, 0, key_generation
    from applications where application_id = ${applicationId} returning id`.execute(queries);
  if (rows.length === 0) throw new ApiError("ItemDoesNotExist"); // the application was erased concurrently
  return { ...key, appkey };
}

/** Lists a page of an application's keys, oldest first, including invalid keys. */
export function listKeys(
  applicationId: string,
  position: Position,
  size: number,
  queries: Queries,
): Promise<Page<ApplicationKey>> {
  const scope = {
    shape: "keys of an application",
    from: sql`application_keys as key join applications as application on application.application_id = key.application_id`,
    select: sql`key.id, key.label, key.created_at, key.retired_at, key.generation, application.key_generation`,
    conditions: [equals("key.application_id", applicationId)],
  };
  return readPage(scopeStream<ApplicationKey>(scope, tieOrder("key.id"), false, queries), position, size);
}

export async function findKey(
  applicationId: string,
  id: string,
  queries: Queries,
): Promise<ApplicationKey | undefined> {
  const [key] = await findById(queries, { applicationId, id });
  return key;
}

/** Counts the keys with which devices can register. */
export async function countLiveKeys(applicationId: string, queries: Queries): Promise<number> {
  const [{ keys } = { keys: 0 }] = await countLive(queries, { applicationId });
  return Number(keys);
}

/** Retires a key, so that devices can no longer register with it. `Revocations.endKeyTokens` revokes its tokens. */
export async function updateKeyRetired(applicationId: string, id: string, at: number, queries: Queries): Promise<void> {
  await queries
    .updateTable("application_keys")
    .set({ retired_at: at })
    .where("application_id", "=", applicationId)
    .where("id", "=", id)
    .execute();
}

export async function updateKeyLabel(
  applicationId: string,
  id: string,
  label: string,
  queries: Queries,
): Promise<void> {
  await queries
    .updateTable("application_keys")
    .set({ label })
    .where("application_id", "=", applicationId)
    .where("id", "=", id)
    .execute();
}

/** The number of devices whose last registration used a key, and the time of the latest registration. */
export interface KeyUse {
  readonly devices: number;
  readonly lastRegisteredAt: number | undefined;
}

const devicesPerStep = 10_000;

/** Counts the devices of a key, possibly millions, in steps that yield to the event loop. */
export async function countDevices(applicationId: string, keyId: string, reads: Queries): Promise<KeyUse> {
  const ofKey = { applicationId, keyId };
  const [latest] = await findLatest(reads, ofKey);
  if (latest === undefined) return { devices: 0, lastRegisteredAt: undefined };
  let devices = 0;
  let from = 0;
  while (from <= latest.registered_at) {
    const [step] = await findAfter(reads, { ...ofKey, from, count: devicesPerStep });
    // A step ends between two times, so that devices with equal times are counted once.
    const until = Math.max(from + 1, step?.registered_at ?? latest.registered_at + 1);
    const [counted] = await countBetween(reads, { ...ofKey, from, until });
    devices += Number(counted?.devices ?? 0);
    from = until;
    await setImmediate();
  }
  return { devices, lastRegisteredAt: latest.registered_at };
}

const findById = prepare<{ applicationId: string; id: string }, ApplicationKey>((queries, parameter) =>
  queries
    .selectFrom("application_keys as key")
    .innerJoin("applications as application", "application.application_id", "key.application_id")
    .where("key.application_id", "=", parameter("applicationId"))
    .where("key.id", "=", parameter("id"))
    .select(["key.id", "key.label", "key.created_at", "key.retired_at", "key.generation"])
    .select("application.key_generation"),
);

const countLive = prepare<{ applicationId: string }, { keys: number | bigint | string }>((queries, parameter) =>
  queries
    .selectFrom("application_keys as key")
    .innerJoin("applications as application", "application.application_id", "key.application_id")
    .where("key.application_id", "=", parameter("applicationId"))
    .where("key.retired_at", "is", null)
    .whereRef("key.generation", "=", "application.key_generation")
    .select((row) => row.fn.countAll().as("keys")),
);

interface OfKey {
  readonly applicationId: string;
  readonly keyId: string;
}

const findLatest = prepare<OfKey, { registered_at: number }>((queries, parameter) =>
  queries
    .selectFrom("devices")
    .select(sql<number>`registered_at`.as("registered_at"))
    .where("application_id", "=", parameter("applicationId"))
    .where("key_id", "=", parameter("keyId"))
    .where("registered_at", "is not", null)
    .orderBy("registered_at", "desc")
    .limit(1),
);

const findAfter = prepare<OfKey & { from: number; count: number }, { registered_at: number }>((queries, parameter) =>
  queries
    .selectFrom("devices")
    .select(sql<number>`registered_at`.as("registered_at"))
    .where("application_id", "=", parameter("applicationId"))
    .where("key_id", "=", parameter("keyId"))
    .where("registered_at", ">=", parameter("from"))
    .orderBy("registered_at")
    .limit(1)
    .offset(parameter("count")),
);

const countBetween = prepare<OfKey & { from: number; until: number }, { devices: number | bigint | string }>(
  (queries, parameter) =>
    queries
      .selectFrom("devices")
      .select((row) => row.fn.countAll().as("devices"))
      .where("application_id", "=", parameter("applicationId"))
      .where("key_id", "=", parameter("keyId"))
      .where("registered_at", ">=", parameter("from"))
      .where("registered_at", "<", parameter("until")),
);
