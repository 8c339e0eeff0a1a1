import { sql } from "kysely";
import type { Config } from "../../config/config.ts";
import type { Database, Queries, Transaction } from "../../db/database.ts";
import { lockApplication } from "../../db/lock.ts";
import { prepare, prepareShapes } from "../../db/prepared.ts";
import { listLengthMax, padList } from "../../db/search/list-lengths.ts";
import { isOnSide, type Stream, sortRows, type Take } from "../../db/search/stream.ts";
import type { Clock } from "../../lib/clock.ts";
import { ApiError } from "../../lib/errors.ts";
import { LruMap } from "../../lib/lru-map.ts";
import { createTokenBuckets } from "../../limits/token-buckets.ts";
import { type KeyRow, readKey, readKeys, readWaiting } from "./snapshot.ts";

const runShape = prepareShapes();

/** Returns which keys the application already has, a few hundred per statement. */
async function listKnownKeys(applicationId: string, keys: readonly string[], queries: Queries): Promise<Set<string>> {
  const known = new Set<string>();
  for (let from = 0; from < keys.length; from += listLengthMax) {
    const some = padList(keys.slice(from, from + listLengthMax));
    const values = { applicationId, ...some };
    const rows = await runShape<{ key: string }>(queries, `known ${some.length}`, values, (parameter) =>
      queries
        .selectFrom("metric_keys")
        .select("key")
        .where("application_id", "=", parameter("applicationId"))
        .where(
          "key",
          "in",
          some.map((_, index) => parameter(`${index}`)),
        ),
    );
    for (const { key } of rows) known.add(key);
  }
  return known;
}

const countPrepared = prepare<{ applicationId: string }, { count: number }>((queries, parameter) =>
  queries
    .selectFrom("metric_keys")
    .select(sql<number>`count(*)`.as("count"))
    .where("application_id", "=", parameter("applicationId")),
);

async function countKeys(applicationId: string, queries: Queries): Promise<number> {
  const [row] = await countPrepared(queries, { applicationId });
  return Number(row?.count ?? 0);
}

const insertPrepared = prepare<{ applicationId: string; key: string; now: number }, never>((queries, parameter) =>
  queries
    .insertInto("metric_keys")
    .values({
      application_id: parameter("applicationId"),
      key: parameter("key"),
      event_count: sql.lit(0),
      earliest_at: parameter("now"),
      last_received_at: parameter("now"),
      stored_bytes: sql.lit(0),
    })
    .onConflict((conflict) => conflict.columns(["application_id", "key"]).doNothing()),
);

/** Adds a key that has no compacted events yet. */
async function insertKey(applicationId: string, key: string, now: number, queries: Queries): Promise<void> {
  await insertPrepared(queries, { applicationId, key, now });
}

/** The keys of a call that are new to the application, and those that exceed its limit. */
export interface CheckedKeys {
  readonly added: readonly string[];
  readonly refused: ReadonlyMap<string, ApiError>;
}

interface ReportingDevice {
  readonly applicationId: string;
  readonly deviceId: string;
}

/** Limits the distinct keys of metric events: each new one costs rows until its retention expires (hostile.md 37). */
export interface KeyLimits {
  /** Must be called before the transaction. Resolves most calls from memory, and refuses a flood without a write. */
  check(caller: ReportingDevice, keys: ReadonlySet<string>): Promise<CheckedKeys> | CheckedKeys;
  /**
   * Adds the keys in the transaction of their events. @returns all refused keys: concurrent transactions may have used
   * up the limit
   */
  add(
    applicationId: string,
    checked: CheckedKeys,
    transaction: Transaction,
  ): Promise<CheckedKeys["refused"]> | CheckedKeys["refused"];
}

/** Shared by all applications; each entry takes a few hundred bytes. */
const cachedKeysMax = 50_000;
/** Bounds staleness: retention deletes keys without invalidating the cache. */
const cachedForMs = 3_600_000;
/** How long a process refuses new keys of a full application before it counts again. */
const fullForMs = 10_000;
const applicationsMax = 10_000;
const devicesMax = 100_000;
const hourSeconds = 3_600;

const allKnown: CheckedKeys = { added: [], refused: new Map() };

export function createKeyLimits(
  settings: Pick<Config, "metricKeysPerApplication" | "metricNewKeysPerHour" | "rateLimits">,
  { database, clock }: { readonly database: Database; readonly clock: Clock },
): KeyLimits {
  const { metricKeysPerApplication: keysMax, metricNewKeysPerHour: newKeysMax } = settings;
  const newKeysLimit = { perSecond: newKeysMax / hourSeconds, burst: newKeysMax };
  const cache = new LruMap<string, true>(cachedKeysMax);
  const fullUntil = new LruMap<string, number>(applicationsMax);
  const devices = createTokenBuckets(devicesMax);
  let cachedSince = clock.now();

  /** Runs after the commit: a rolled-back transaction must not leave its keys in the cache. */
  function remember(applicationId: string, keys: Iterable<string>): void {
    for (const key of keys) cache.set(`${applicationId} ${key}`, true);
  }

  async function isFull(applicationId: string): Promise<boolean> {
    const now = clock.now();
    if ((fullUntil.get(applicationId) ?? Number.NEGATIVE_INFINITY) > now) return true;
    if ((await countKeys(applicationId, database.reads)) < keysMax) return false;
    database.afterCommit(() => fullUntil.set(applicationId, now + fullForMs));
    return true;
  }

  async function checkUnknown(
    { applicationId, deviceId }: ReportingDevice,
    keys: readonly string[],
  ): Promise<CheckedKeys> {
    const known = await listKnownKeys(applicationId, keys, database.reads);
    if (known.size > 0) database.afterCommit(() => remember(applicationId, known));
    const added = keys.filter((key) => !known.has(key));
    if (added.length === 0) return allKnown;
    if (await isFull(applicationId)) return { added: [], refused: refuse(added, applicationIsFull()) };
    if (!settings.rateLimits) return { added, refused: allKnown.refused };
    const now = clock.now();
    const bucket = devices.find(deviceId, newKeysLimit, now);
    const taken = added.filter(() => {
      const isTaken = bucket.waitMs(now) === 0;
      if (isTaken) bucket.take(now);
      return isTaken;
    });
    return { added: taken, refused: refuse(added.slice(taken.length), deviceIsSpent()) };
  }

  function applicationIsFull(): ApiError {
    return new ApiError("RequestTooLarge", `An application has at most ${keysMax} distinct keys of events.`);
  }

  function deviceIsSpent(): ApiError {
    return new ApiError("RequestTooLarge", `A device may add at most ${newKeysMax} distinct keys of events per hour.`);
  }

  return {
    check(caller, keys) {
      const now = clock.now();
      if (now - cachedSince >= cachedForMs) {
        cache.clear();
        cachedSince = now;
      }
      const unknown: string[] = [];
      for (const key of keys) if (cache.get(`${caller.applicationId} ${key}`) !== true) unknown.push(key);
      return unknown.length === 0 ? allKnown : checkUnknown(caller, unknown);
    },

    add(applicationId, { added, refused }, transaction) {
      return added.length === 0 ? refused : addKeys(applicationId, added, refused, transaction);
    },
  };

  async function addKeys(
    applicationId: string,
    keys: readonly string[],
    refused: CheckedKeys["refused"],
    { queries, afterCommit }: Transaction,
  ): Promise<CheckedKeys["refused"]> {
    // Serializes transactions that add keys, so that together they cannot exceed the limit.
    await lockApplication(database.dialect, applicationId, queries);
    const known = await listKnownKeys(applicationId, keys, queries);
    const missing = keys.filter((key) => !known.has(key));
    const room = Math.max(0, keysMax - (await countKeys(applicationId, queries)));
    const added = missing.slice(0, room);
    const now = clock.now();
    for (const key of added) await insertKey(applicationId, key, now, queries);
    afterCommit(() => remember(applicationId, [...known, ...added]));
    if (added.length === missing.length) return refused;
    return new Map([...refused, ...refuse(missing.slice(room), applicationIsFull())]);
  }
}

function refuse(keys: readonly string[], error: ApiError): Map<string, ApiError> {
  return new Map(keys.map((key) => [key, error]));
}

const order = { keyOf: ({ key }: KeyRow) => [key], isDescending: false } as const;

/** Streams the event keys of an application in order, including keys that are only in the inbox. */
export function keysStream(applicationId: string, prefix: string, queries: Queries): Stream<KeyRow> {
  return {
    ...order,
    async take({ direction, bound: asked, count }, work) {
      const isDown = direction === "backward";
      const bound = asked ?? boundOf(prefix, isDown);
      const [key] = bound?.key ?? [];
      const limit = bound === undefined ? undefined : { side: bound.side, key: String(key) };
      const { keys, waiting } = await readKeys(applicationId, limit, { isDown, count }, queries);
      const more = await readWaiting(waiting).keys();
      const rows = keys.map((row) => {
        const waiting = more.get(row.key);
        more.delete(row.key);
        return waiting === undefined
          ? row
          : {
              key: row.key,
              eventCount: row.eventCount + waiting.eventCount,
              lastReceivedAt: Math.max(row.lastReceivedAt, waiting.lastReceivedAt),
            };
      });
      // Stored keys after the last row read sort after it here, too, and are cut off.
      for (const [each, counted] of more) {
        if (bound === undefined || isOnSide(order, [each], bound)) rows.push({ key: each, ...counted });
      }
      work?.examined(rows.length);
      const found = sortRows(rows, order, direction).slice(0, count);
      // Keys with the prefix are adjacent, so the search stops at the first other key.
      return { rows: found.filter((row) => row.key.startsWith(prefix)) };
    },
  };
}

/** Returns the position where keys with a prefix start, in either direction. */
function boundOf(prefix: string, isDown: boolean): Take["bound"] {
  if (prefix === "") return undefined;
  return isDown ? { side: "until", key: [`${prefix}\u{10FFFF}`] } : { side: "from", key: [prefix] };
}

/** Whether an application has events under a key, stored or waiting. */
export async function isKnownKey(applicationId: string, key: string, queries: Queries): Promise<boolean> {
  const { isKnown, waiting } = await readKey(applicationId, key, queries);
  return isKnown || (await readWaiting(waiting).keys()).has(key);
}
