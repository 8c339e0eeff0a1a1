import { type RawBuilder, type Selectable, sql } from "kysely";
import { withoutTestCallers } from "../auth/without-test-callers.ts";
import { countRows } from "../db/count-rows.ts";
import type { Database, Queries } from "../db/database.ts";
import type { Tables } from "../db/tables.ts";
import { countMax } from "../lib/counted.ts";
import { spans, startOf } from "../lib/spans.ts";
import { findUsage } from "../storage/usage.ts";

const kinds = ["devices", "users", "checkins"] as const;
export type CountedKind = (typeof kinds)[number];

/** The number of an application's objects of a kind. */
export interface Total {
  readonly count: number;
  /** False if the count is last night's, plus the objects created since. */
  readonly isExact: boolean;
}

interface Totals extends Readonly<Record<CountedKind, Total>> {
  readonly files: number;
  readonly bytes: number;
}

/** The number of rows that maintenance counts per statement. */
const rowsPerStep = 10_000;
/**
 * Above this, a stored count is returned without counting rows, because fewer than {@link countMax} rows are unlikely.
 */
const clearlyAboveMax = 2 * countMax;

/**
 * Reads at most a thousand rows per number. The number of files is stored.
 *
 * @param readAdded counts the objects created since a time
 */
export async function findTotals(
  applicationId: string,
  readAdded: (since: number) => Promise<Readonly<Record<CountedKind, number>>>,
  queries: Queries,
): Promise<Totals> {
  const kept = await listKeptCounts([applicationId], queries);
  async function find(kind: CountedKind): Promise<Total> {
    const last = kept.find((each) => each.kind === kind);
    if (last === undefined || last.counted <= clearlyAboveMax) {
      const { count, isMore } = await countRows(countedRows(kind, applicationId), queries);
      if (!isMore) return { count, isExact: true };
    }
    const added = last === undefined ? 0 : (await readAdded(startOf("hour", last.counted_at)))[kind];
    return { count: Math.max(countMax, (last?.counted ?? 0) + added), isExact: false };
  }
  const [devices, users, checkins] = [await find("devices"), await find("users"), await find("checkins")];
  return { devices, users, checkins, ...(await findUsage(applicationId, queries)) };
}

type KeptCount = Selectable<Tables["kept_counts"]>;

function listKeptCounts(applicationIds: readonly string[], queries: Queries): Promise<KeptCount[]> {
  return queries.selectFrom("kept_counts").selectAll().where("application_id", "in", applicationIds).execute();
}

/** Counts an application's objects once a day, in bounded steps. If stopped, the next round continues with the kind. */
export async function updateTotals(
  applicationId: string,
  now: number,
  database: Database,
  signal?: AbortSignal,
): Promise<void> {
  const kept = await listKeptCounts([applicationId], database.reads);
  const isCounted = (kind: CountedKind) =>
    kept.some((each) => each.kind === kind && each.counted_at >= startOf("day", now));
  for (const kind of kinds.filter((each) => !isCounted(each))) {
    const counted = await countAll(kind, applicationId, database.reads, signal);
    await database.write(({ queries }) => putKeptCount({ application_id: applicationId, kind, counted }, now, queries));
  }
}

async function countAll(
  kind: CountedKind,
  applicationId: string,
  queries: Queries,
  signal: AbortSignal | undefined,
): Promise<number> {
  let total = 0;
  let after: string | null = "";
  while (after !== null) {
    signal?.throwIfAborted();
    const { counted, last } = await countStep(kind, applicationId, after, queries);
    total += Number(counted);
    after = last;
  }
  return total;
}

interface CountedStep {
  readonly counted: number | bigint | string;
  /** The last id that was counted, if any. */
  readonly last: string | null;
}

async function countStep(
  kind: CountedKind,
  applicationId: string,
  after: string,
  queries: Queries,
): Promise<CountedStep> {
  const step = sql`select id ${countedRows(kind, applicationId)} and id > ${after} order by id`;
  const { rows } = await sql<CountedStep>`
    select count(*) as counted, max(id) as last from (${step} limit ${sql.lit(rowsPerStep)}) as step`.execute(queries);
  return rows[0] ?? { counted: 0, last: null };
}

/** The rows of a kind that are not deleted, from `from` on, without test devices and test users. */
function countedRows(kind: CountedKind, applicationId: string): RawBuilder<unknown> {
  const rows = sql`from ${sql.table(kind)} where application_id = ${applicationId}`;
  if (kind === "checkins") return rows;
  const existing = kind === "users" ? sql`and deleted_at is null` : sql``;
  return sql`${rows} ${existing} ${withoutTestCallers(kind, applicationId)}`;
}

async function putKeptCount(row: Omit<KeptCount, "counted_at">, counted_at: number, queries: Queries): Promise<void> {
  await queries
    .insertInto("kept_counts")
    .values({ ...row, counted_at })
    .onConflict((conflict) =>
      conflict.columns(["application_id", "kind"]).doUpdateSet({ counted: row.counted, counted_at }),
    )
    .execute();
}

/** The current activity of an application, for a list of applications. */
export interface Activity {
  /** Over the last 15 minutes. */
  readonly callsPerMinute: number;
  readonly calls: number;
  readonly errors: number;
  /** Calls per hour of the last 24 hours, in order. */
  readonly hours: number[];
  readonly devices: Total;
  readonly users: Total;
}

const recentMinutes = 15;
const hoursShown = 24;

/** Reads only the counts of intervals, and at most a thousand rows per number. */
export async function listActivity(
  applicationIds: readonly string[],
  now: number,
  queries: Queries,
): Promise<ReadonlyMap<string, Activity>> {
  if (applicationIds.length === 0) return new Map();
  const first = startOf("hour", now) - (hoursShown - 1) * spans.hour;
  const [hours, minutes, kept] = await Promise.all([
    listHours(applicationIds, first, queries),
    listRecent(applicationIds, now - recentMinutes * spans.minute, queries),
    listKeptCounts(applicationIds, queries),
  ]);
  const found = applicationIds.map(async (applicationId) => {
    const isOf = (row: { readonly application_id: string }) => row.application_id === applicationId;
    const [own, recent] = [hours.filter(isOf), minutes.find(isOf)];
    const activity: Activity = {
      callsPerMinute: Math.round((Number(recent?.calls ?? 0) / recentMinutes) * 100) / 100,
      calls: sumOf(own.map(({ calls }) => calls)),
      errors: sumOf(own.map(({ errors }) => errors)),
      hours: Array.from({ length: hoursShown }, (_, index) => {
        const at = first + index * spans.hour;
        return Number(own.find(({ hour }) => Number(hour) === at)?.calls ?? 0);
      }),
      devices: await findTotal("devices", applicationId, kept, queries),
      users: await findTotal("users", applicationId, kept, queries),
    };
    return [applicationId, activity] as const;
  });
  return new Map(await Promise.all(found));
}

type Sum = number | bigint | string;

interface Sums {
  readonly application_id: string;
  readonly calls: Sum;
  readonly errors: Sum;
}

/** Returns complete hours, and the minutes of the current hour. */
async function listHours(
  applicationIds: readonly string[],
  since: number,
  queries: Queries,
): Promise<readonly (Sums & { readonly hour: Sum })[]> {
  const ids = sql.join(applicationIds);
  const rows = (condition: RawBuilder<unknown>) => sql`
    select application_id, starts_at - starts_at % ${sql.lit(spans.hour)} as hour, calls, errors from statistics
    where application_id in (${ids}) and ${condition} and starts_at >= ${since}`;
  const statement = sql<Sums & { readonly hour: Sum }>`
    select application_id, hour, sum(calls) as calls, sum(errors) as errors from (
      ${rows(sql`span = ${sql.lit(spans.hour)}`)}
      union all
      ${rows(sql`is_pending = 1 and span = ${sql.lit(spans.minute)}`)}
    ) as found group by application_id, hour`;
  return (await queries.executeQuery(statement.compile(queries))).rows;
}

async function listRecent(
  applicationIds: readonly string[],
  since: number,
  queries: Queries,
): Promise<readonly Omit<Sums, "errors">[]> {
  const statement = sql<Omit<Sums, "errors">>`
    select application_id, sum(calls) as calls from statistics
    where application_id in (${sql.join(applicationIds)}) and span = ${sql.lit(spans.minute)} and starts_at >= ${since}
    group by application_id`;
  return (await queries.executeQuery(statement.compile(queries))).rows;
}

/** Counts many objects as of last night, and few by their rows. */
async function findTotal(
  table: "devices" | "users",
  applicationId: string,
  kept: readonly KeptCount[],
  queries: Queries,
): Promise<Total> {
  const last =
    kept.find(({ application_id, kind }) => application_id === applicationId && kind === table)?.counted ?? 0;
  if (last > countMax) return { count: last, isExact: false };
  const { count, isMore } = await countRows(countedRows(table, applicationId), queries);
  return { count, isExact: !isMore };
}

function sumOf(counts: readonly Sum[]): number {
  return counts.reduce((total: number, count) => total + Number(count), 0);
}
