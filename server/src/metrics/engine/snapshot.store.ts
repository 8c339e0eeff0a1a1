import { type Compilable, type RawBuilder, sql } from "kysely";
import type { Queries } from "../../db/database.ts";
import { hasLateralJoins } from "../../db/dialect.ts";
import { prepareShapes } from "../../db/prepared.ts";
import { rowLimit } from "../../db/row-limit.ts";
import type { BatchRow } from "./batches.store.ts";
import type { WaitingRow } from "./inbox.store.ts";

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

function compilable<Row>(statement: RawBuilder<Row>, queries: Queries): Compilable<Row> {
  return { compile: () => statement.compile(queries) };
}
