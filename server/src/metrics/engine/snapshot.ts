import { type RawBuilder, sql } from "kysely";
import type { Queries } from "../../db/database.ts";
import { hasLateralJoins } from "../../db/dialect.ts";
import { compilable, prepareShapes } from "../../db/prepared.ts";
import { rowLimit } from "../../db/row-limit.ts";
import { startOf } from "../../lib/spans.ts";
import { createYield } from "../../lib/yield.ts";
import { Batch, type Bucket, bucketsOf, type Wanted } from "./batch.ts";
import { type BatchRow, rowIdsOf } from "./compaction.ts";
import { type InboxPayload, readPayload, type StoredEvent, type WaitingRow } from "./inbox.store.ts";
import { dimensionOf } from "./rollups.ts";
import { eventsPosition, type Granularity, keyPosition, rollupId, seriesOf } from "./row-ids.ts";

/** The waiting rows of the inbox, and the progress of their compaction. */
export interface WaitingSnapshot {
  readonly rows: readonly WaitingRow[];
  readonly batch: Pick<BatchRow, "row_ids" | "done_until"> | undefined;
}

interface SnapshotRow {
  readonly kind: "stored" | "known" | "waiting" | "batch";
  readonly id: string;
  readonly payload: string | null;
  readonly data: Uint8Array | null;
  readonly first: number | null;
  readonly second: number | null;
}

const runShape = prepareShapes();

/**
 * Reads stored and waiting events in one statement, which sees one snapshot on both engines: a concurrent compaction
 * cannot hide an event or count it twice.
 *
 * @param stored selects the other rows to read, in the columns of {@link SnapshotRow}
 * @param known a further select, placed after those from which PostgreSQL infers its column types
 */
async function readSnapshot(
  shape: string,
  values: { readonly applicationId: string } & Readonly<Record<string, unknown>>,
  stored: (parameter: (name: string) => never) => RawBuilder<unknown>,
  known: (parameter: (name: string) => never) => RawBuilder<unknown>,
  queries: Queries,
): Promise<{ stored: SnapshotRow[]; waiting: WaitingSnapshot }> {
  const all = await runShape<SnapshotRow>(queries, shape, values, (parameter) =>
    compilable(
      sql<SnapshotRow>`${stored(parameter)}
        union all
        select 'waiting', id, payload, null, received_at, null from metric_inbox
          where application_id = ${parameter("applicationId")}
        union all
        select 'batch', done_until, row_ids, null, null, null from metric_batches
          where application_id = ${parameter("applicationId")}
        ${known(parameter)}`,
      queries,
    ),
  );
  const found: SnapshotRow[] = [];
  const rows: WaitingRow[] = [];
  let batch: WaitingSnapshot["batch"];
  for (const row of all) {
    if (row.kind === "waiting") rows.push({ id: row.id, received_at: row.first ?? 0, payload: row.payload ?? "" });
    else if (row.kind === "batch") batch = { done_until: row.id, row_ids: row.payload ?? "[]" };
    else found.push(row);
  }
  return { stored: found, waiting: { rows, batch } };
}

/** Reads the roll-ups of one key and dimension in a range of ids, whether the key exists, and the waiting rows. */
export async function readRollups(
  applicationId: string,
  key: string,
  range: { readonly from: string; readonly to: string },
  queries: Queries,
): Promise<{ isKnown: boolean; rollups: { id: string; data: Uint8Array }[]; waiting: WaitingSnapshot }> {
  const { stored, waiting } = await readSnapshot(
    "rollups",
    { applicationId, key, ...range },
    (parameter) => sql`
      select 'stored' as kind, id, null as payload, data, null as first, null as second from metric_rollups
        where application_id = ${parameter("applicationId")} and id >= ${parameter("from")} and id < ${parameter("to")}`,
    (parameter) => sql`
      union all
      select 'known', '', null, null, null, null from metric_keys
        where application_id = ${parameter("applicationId")} and key = ${parameter("key")}`,
    queries,
  );
  const rollups: { id: string; data: Uint8Array }[] = [];
  for (const { id, data } of stored) if (data !== null) rollups.push({ id, data });
  return { isKnown: stored.some(({ kind }) => kind === "known"), rollups, waiting };
}

/** Longer than the version and the count at the start of a roll-up. */
const countBytes = 16;

/**
 * Reads the first bytes of roll-ups of several series, because roll-ups are large, and the waiting rows.
 *
 * @param range of the ids after each series, which has at most `count` roll-ups there
 */
export async function readRollupCounts(
  applicationId: string,
  series: readonly string[],
  range: { readonly from: string; readonly to: string; readonly count: number },
  queries: Queries,
): Promise<{ rollups: { id: string; data: Uint8Array }[]; waiting: WaitingSnapshot }> {
  const named = Object.fromEntries(series.map((each, index) => [`series${index}`, each]));
  const { stored, waiting } = await readSnapshot(
    `counts ${series.length}`,
    { ...named, applicationId, ...range },
    (parameter) => {
      const given = sql.join(Object.keys(named).map((name) => sql`(${parameter(name)})`));
      const rows = sql`metric_rollups
        where application_id = ${parameter("applicationId")}
          and id >= given.column1 || ${parameter("from")} and id < given.column1 || ${parameter("to")}`;
      // Without statistics of the table, PostgreSQL would otherwise read all of it.
      const found = hasLateralJoins(queries)
        ? sql`lateral (select id, data from ${rows} order by id limit ${rowLimit(parameter("count"))}) as found`
        : rows;
      return sql`
        select 'stored' as kind, id, null as payload, substr(data, 1, ${sql.lit(countBytes)}) as data,
          null as first, null as second
        from (values ${given}) as given cross join ${found}`;
    },
    () => sql``,
    queries,
  );
  return { rollups: stored.flatMap(({ id, data }) => (data === null ? [] : [{ id, data }])), waiting };
}

export interface KeyRow {
  readonly key: string;
  readonly eventCount: number;
  readonly lastReceivedAt: number;
}

/** Reads keys next to a bound, in order, and the waiting rows. */
export async function readKeys(
  applicationId: string,
  bound: { readonly side: "after" | "from" | "before" | "until"; readonly key: string } | undefined,
  { isDown, count }: { readonly isDown: boolean; readonly count: number },
  queries: Queries,
): Promise<{ keys: KeyRow[]; waiting: WaitingSnapshot }> {
  const operators = { after: sql`>`, from: sql`>=`, before: sql`<`, until: sql`<=` };
  const { stored, waiting } = await readSnapshot(
    `keys ${bound?.side} ${isDown}`,
    { applicationId, count, key: bound?.key },
    (parameter) => sql`
      select * from (
        select 'stored' as kind, key as id, null as payload, null as data,
          event_count as first, last_received_at as second
        from metric_keys where application_id = ${parameter("applicationId")}
        ${bound === undefined ? sql`` : sql`and key ${operators[bound.side]} ${parameter("key")}`}
        order by key ${isDown ? sql`desc` : sql`asc`} limit ${rowLimit(parameter("count"))}
      ) as keys`,
    () => sql``,
    queries,
  );
  const keys = stored.map(({ id, first, second }) => ({
    key: id,
    eventCount: first ?? 0,
    lastReceivedAt: second ?? 0,
  }));
  return { keys, waiting };
}

/** Reads whether the key exists, and the waiting rows. */
export async function readKey(
  applicationId: string,
  key: string,
  queries: Queries,
): Promise<{ isKnown: boolean; waiting: WaitingSnapshot }> {
  const { isKnown, waiting } = await readRollups(applicationId, key, { from: "", to: "" }, queries);
  return { isKnown, waiting };
}

/**
 * Events that are in no chunk or roll-up, and are read together with stored ones. Of inbox rows under compaction, only
 * events after the batch's position count.
 */
export interface Waiting {
  /** Whether the key has waiting events, and the buckets to add to the roll-ups of one dimension. */
  buckets(
    wanted: Wanted,
    granularity: Granularity,
  ): Promise<{ isAny: boolean; found: (readonly [start: number, bucket: Bucket])[] }>;
  /** The number of events to add to each bucket of these keys, by start of bucket. */
  counts(keys: readonly string[], granularity: Granularity): Promise<ReadonlyMap<string, ReadonlyMap<number, number>>>;
  /** The number of events to add to each key, and the time of the latest. */
  keys(): Promise<Map<string, { eventCount: number; lastReceivedAt: number }>>;
  /** Calls `found` for each event of a key that is in no chunk. */
  eachEvent(
    key: string,
    found: (row: WaitingRow & Pick<InboxPayload, "device" | "user">, index: number, event: StoredEvent) => void,
  ): Promise<void>;
}

export function readWaiting({ rows, batch }: WaitingSnapshot): Waiting {
  const ofBatch = new Set(batch === undefined ? [] : rowIdsOf(batch));
  const doneUntil = batch?.done_until ?? "";

  return {
    async buckets(wanted, granularity) {
      const { key, groupBy } = wanted;
      const seriesId = seriesOf(key);
      const dimension = groupBy === undefined ? "" : dimensionOf(groupBy);
      const yieldToOthers = createYield();
      const [waiting, taken] = [new Batch(wanted), new Batch(wanted)];
      let isAny = false;
      for (const row of rows) {
        const payload = readPayload(row.payload);
        isAny ||= payload.events.some(([each]) => each === key);
        (ofBatch.has(row.id) ? taken : waiting).add(row, payload, 0, payload.events.length);
        await yieldToOthers();
      }
      const found = [...bucketsIn(waiting, key, granularity)];
      for (const each of bucketsIn(taken, key, granularity)) {
        if (rollupId(seriesId, granularity, each[0], dimension) > doneUntil) found.push(each);
      }
      return { isAny, found };
    },

    async counts(keys, granularity) {
      const seriesIds = new Map(keys.map((key) => [key, seriesOf(key)]));
      const counts = new Map(keys.map((key) => [key, new Map<number, number>()]));
      const yieldToOthers = createYield();
      for (const { id, payload } of rows) {
        const { events, isEnd } = readPayload(payload);
        if (isEnd === true) continue;
        for (const [key, occurredAt] of events) {
          const [seriesId, ofKey] = [seriesIds.get(key), counts.get(key)];
          if (seriesId === undefined || ofKey === undefined) continue;
          const start = startOf(granularity, occurredAt);
          if (ofBatch.has(id) && rollupId(seriesId, granularity, start, "") <= doneUntil) continue;
          ofKey.set(start, (ofKey.get(start) ?? 0) + 1);
        }
        await yieldToOthers();
      }
      return counts;
    },

    async keys() {
      const counts = new Map<string, { eventCount: number; lastReceivedAt: number }>();
      const yieldToOthers = createYield();
      for (const { id, received_at, payload } of rows) {
        const { events, isEnd } = readPayload(payload);
        for (const [key] of events) {
          if (ofBatch.has(id) && keyPosition(seriesOf(key)) <= doneUntil) continue;
          const counted = counts.get(key) ?? { eventCount: 0, lastReceivedAt: received_at };
          counted.eventCount += isEnd === true ? 0 : 1;
          counted.lastReceivedAt = Math.max(counted.lastReceivedAt, received_at);
          counts.set(key, counted);
        }
        await yieldToOthers();
      }
      return counts;
    },

    async eachEvent(key, found) {
      const seriesId = seriesOf(key);
      const yieldToOthers = createYield();
      for (const row of rows) {
        const { events, isEnd, device, user } = readPayload(row.payload);
        if (isEnd === true) continue;
        for (const [index, event] of events.entries()) {
          if (event[0] !== key) continue;
          if (ofBatch.has(row.id) && eventsPosition(seriesId, startOf("hour", event[1])) <= doneUntil) continue;
          found({ ...row, device, user }, index, event);
        }
        await yieldToOthers();
      }
    },
  };
}

function bucketsIn(batch: Batch, key: string, granularity: Granularity): Iterable<readonly [number, Bucket]> {
  const series = batch.series.get(key);
  return series === undefined ? [] : bucketsOf(series, granularity);
}
