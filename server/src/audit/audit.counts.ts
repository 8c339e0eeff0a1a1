import { type RawBuilder, sql } from "kysely";
import type { Database, Queries } from "../db/database.ts";
import { rowLimit } from "../db/row-limit.ts";
import { deleteOldIntervals } from "../db/steps.ts";
import type { AuditCountRow, AuditRow } from "../db/tables.ts";
import { type Range, spans, startOf } from "../lib/spans.ts";
import { type AuditFilters, auditSteps, auditStream, isRefusal } from "./audit.store.ts";

/** An hour is counted this long after it is over, when the transactions of its entries have been committed. */
const lateMs = 300_000;
const rowsPerChunk = 2_000;
/** A log of an older release is counted in some minutes. */
const hoursPerRound = 1_000;

/**
 * Counts the entries of each past hour once, so that no request counts them. Works in bounded steps, so that it can be
 * stopped at any moment and resumed.
 */
export async function countAuditLog(now: number, database: Database, signal?: AbortSignal): Promise<void> {
  for (let hours = 0; hours < hoursPerRound; hours += 1) {
    const first = await findFirstEntry(await findCountedUntil(database.reads), database.reads);
    if (first === undefined) return;
    const start = startOf("hour", first);
    if (start + spans.hour + lateMs > now) return;
    const counts = await countHour(start, database.reads, signal);
    await database.write(async ({ queries }) => {
      if ((await findCountedUntil(queries)) <= start) await insertCountedHour(counts, queries);
    });
  }
}

async function countHour(
  start: number,
  queries: Queries,
  signal?: AbortSignal,
): Promise<Omit<AuditCountRow, "span">[]> {
  const counts = new Map<string, Omit<AuditCountRow, "span">>();
  const hour = { at: { start, end: start + spans.hour - 1 } };
  for await (const rows of auditSteps(hour, rowsPerChunk, queries)) {
    signal?.throwIfAborted();
    for (const row of rows) for (const scope of new Set(["", row.application_id])) add(row, scope);
  }
  return [...counts.values()];

  function add(row: AuditRow, scope: string): void {
    const { actor_kind, action } = row;
    const is_refused = Number(isRefusal(row));
    const key = JSON.stringify([scope, actor_kind, action, is_refused]);
    const count = counts.get(key) ?? {
      application_id: scope,
      starts_at: start,
      actor_kind,
      action,
      is_refused,
      entries: 0,
    };
    count.entries += 1;
    counts.set(key, count);
  }
}

const actionsMax = 100;
/** More than the log of most deployments has in an hour. */
const uncountedMax = 5_000;

interface CountedEntries {
  /** Intervals with entries, the earliest first. */
  readonly points: readonly { readonly at: number; readonly entries: number; readonly refused: number }[];
  /** The most frequent first. */
  readonly actions: { action: string; entries: number }[];
  /** Whether there are entries that are not counted. */
  readonly isAtLeast: boolean;
}

/** Adds the entries since the last counted hour, at most the newest 5,000, to the stored counts. */
export async function countEntries(
  filters: CountedFilters,
  interval: CountedInterval,
  range: Range,
  queries: Queries,
): Promise<CountedEntries> {
  const stored = await listStoredCounts(filters, interval, range, queries);
  const points = new Map<number, { at: number; entries: number; refused: number }>();
  const actions = new Map<string, number>();
  let countedUntil = 0;
  for (const { kind, starts_at, is_refused, action, entries } of stored) {
    if (kind === "until") countedUntil = entries === 0 ? 0 : starts_at + spans.hour;
    else if (kind === "action") addToAction(action, entries);
    else addToPoint(starts_at, entries, is_refused === 1);
  }
  const at = { start: Math.max(range.from, countedUntil), end: range.to - 1 };
  const stream = auditStream({ ...filters, at }, queries);
  const { rows } = await stream.take({ direction: "forward", count: uncountedMax + 1 });
  for (const row of rows.slice(0, uncountedMax)) {
    addToPoint(startOf(interval, row.at), 1, isRefusal(row));
    addToAction(row.action, 1);
  }
  return {
    points: [...points.values()].sort((one, other) => one.at - other.at),
    actions: [...actions]
      .map(([action, entries]) => ({ action, entries }))
      .sort((one, other) => other.entries - one.entries || (one.action < other.action ? -1 : 1))
      .slice(0, actionsMax),
    isAtLeast: rows.length > uncountedMax,
  };

  function addToPoint(time: number, entries: number, isRefused: boolean): void {
    const point = points.get(time) ?? { at: time, entries: 0, refused: 0 };
    point.entries += entries;
    if (isRefused) point.refused += entries;
    points.set(time, point);
  }

  function addToAction(action: string, entries: number): void {
    actions.set(action, (actions.get(action) ?? 0) + entries);
  }
}

export type CountedInterval = "hour" | "day";

/** The time for which hourly counts are stored. */
const hoursStoredMs = 8 * spans.day;

/** The filters that stored counts support. */
type CountedFilters = Pick<AuditFilters, "applicationId" | "actorKind" | "actions" | "exceptActions" | "isRefused">;

/** A sum of stored counts: of a time, of an action, or the time until which entries are counted. */
interface StoredCount {
  readonly kind: "time" | "action" | "until";
  readonly starts_at: number;
  readonly is_refused: number;
  readonly action: string;
  readonly entries: number;
}

/**
 * Reads the stored counts of a range and the time until which entries are counted, in one statement, so that no hour is
 * missing or read twice.
 */
export async function listStoredCounts(
  filters: CountedFilters,
  interval: CountedInterval,
  range: Range,
  queries: Queries,
): Promise<readonly StoredCount[]> {
  const found = sql`from audit_counts where ${matching(filters, interval, range)}`;
  const statement = sql<StoredCount>`
    select 'time' as kind, starts_at, is_refused, '' as action, cast(sum(entries) as bigint) as entries
    ${found} group by starts_at, is_refused
    union all
    select 'action', 0, 0, action, cast(sum(entries) as bigint) ${found} group by action
    union all
    select 'until', coalesce(max(starts_at), 0), 0, '', count(*) ${newestHour}`;
  const { rows } = await queries.executeQuery(statement.compile(queries));
  return rows;
}

function matching(
  { applicationId = "", actorKind, actions, exceptActions, isRefused }: CountedFilters,
  interval: CountedInterval,
  { from, to }: Range,
): RawBuilder<unknown> {
  const conditions = [
    sql`application_id = ${applicationId}`,
    sql`span = ${spans[interval]}`,
    sql`starts_at >= ${from}`,
    sql`starts_at < ${to}`,
    ...(actorKind === undefined ? [] : [sql`actor_kind = ${actorKind}`]),
    ...(actions === undefined ? [] : [sql`action in (${sql.join(actions)})`]),
    ...(exceptActions === undefined ? [] : [sql`action not in (${sql.join(exceptActions)})`]),
    ...(isRefused === undefined ? [] : [sql`is_refused = ${Number(isRefused)}`]),
  ];
  return sql.join(conditions, sql` and `);
}

/** Every counted hour has rows that count all entries, and the newest hour stays stored until there is a newer one. */
const newestHour = sql`
  from (
    select starts_at from audit_counts where application_id = '' and span = ${sql.lit(spans.hour)}
    order by starts_at desc limit 1
  ) as newest`;

/** The end of the last counted hour; 0 before the first. */
async function findCountedUntil(queries: Queries): Promise<number> {
  const { rows } = await sql<{ starts_at: number }>`select starts_at ${newestHour}`.execute(queries);
  return rows[0] === undefined ? 0 : rows[0].starts_at + spans.hour;
}

/** The time of the first entry at or after `from`. */
async function findFirstEntry(from: number, queries: Queries): Promise<number | undefined> {
  const first = queries.selectFrom("audit_log").select("at").where("at", ">=", from).orderBy("at").limit(rowLimit(1));
  return (await first.executeTakeFirst())?.at;
}

const rowsPerInsert = 500;

/** Stores the counts of an hour, and adds them to its day. Fails if another process has stored that hour. */
export async function insertCountedHour(
  counts: readonly Omit<AuditCountRow, "span">[],
  queries: Queries,
): Promise<void> {
  for (let first = 0; first < counts.length; first += rowsPerInsert) {
    const some = counts.slice(first, first + rowsPerInsert);
    const hours = some.map((count) => ({ ...count, span: spans.hour }));
    const days = some.map((count) => ({
      ...count,
      span: spans.day,
      starts_at: startOf("day", count.starts_at),
    }));
    await queries.insertInto("audit_counts").values(hours).execute();
    await queries
      .insertInto("audit_counts")
      .values(days)
      .onConflict((conflict) =>
        conflict
          .columns(["application_id", "span", "starts_at", "actor_kind", "action", "is_refused"])
          .doUpdateSet(({ eb, ref }) => ({ entries: eb(ref("audit_counts.entries"), "+", ref("excluded.entries")) })),
      )
      .execute();
  }
}

/** Deletes hours after eight days, and days when all of their entries are old. */
export async function deleteOldAuditCounts(
  now: number,
  auditDays: number,
  database: Database,
  signal?: AbortSignal,
): Promise<void> {
  const newest = (await findCountedUntil(database.reads)) - spans.hour;
  const before = {
    hour: Math.min(now - hoursStoredMs, newest),
    day: now - (auditDays + 1) * spans.day,
  };
  for (const interval of ["hour", "day"] as const) {
    const condition = sql`span = ${sql.lit(spans[interval])}`;
    const rows = { table: "audit_counts", start: "starts_at", condition, stepMs: spans[interval] } as const;
    await deleteOldIntervals(rows, before[interval], database, signal);
  }
}
