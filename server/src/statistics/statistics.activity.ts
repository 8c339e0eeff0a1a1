import { type RawBuilder, sql } from "kysely";
import { countRows } from "../db/count-rows.ts";
import type { Queries } from "../db/database.ts";
import { countMax } from "../lib/counted.ts";
import { spans, startOf } from "../lib/spans.ts";
import { countedRows } from "./statistics.totals.ts";

/** The current activity of an application, for a list of applications. */
export interface Activity {
  /** Over the last 15 minutes. */
  readonly callsPerMinute: number;
  readonly calls: number;
  readonly errors: number;
  /** Calls per hour of the last 24 hours, in order. */
  readonly hours: number[];
  readonly devices: RoughCount;
  readonly users: RoughCount;
}

interface RoughCount {
  readonly count: number;
  readonly isExact: boolean;
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
  const [hours, minutes, kept] = await Promise.all([
    listHours(applicationIds, startOf("hour", now) - (hoursShown - 1) * spans.hour, queries),
    listRecent(applicationIds, now - recentMinutes * spans.minute, queries),
    listKept(applicationIds, queries),
  ]);
  const found = applicationIds.map(async (applicationId) => {
    const isOf = (row: { readonly application_id: string }) => row.application_id === applicationId;
    const [own, recent] = [hours.filter(isOf), minutes.find(isOf)];
    const first = startOf("hour", now) - (hoursShown - 1) * spans.hour;
    const activity: Activity = {
      callsPerMinute: Math.round((Number(recent?.calls ?? 0) / recentMinutes) * 100) / 100,
      calls: sumOf(own.map(({ calls }) => calls)),
      errors: sumOf(own.map(({ errors }) => errors)),
      hours: Array.from({ length: hoursShown }, (_, index) => {
        const at = first + index * spans.hour;
        return sumOf(own.filter(({ hour }) => Number(hour) === at).map(({ calls }) => calls));
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

interface KeptRow {
  readonly application_id: string;
  readonly kind: string;
  readonly counted: number;
}

function listKept(applicationIds: readonly string[], queries: Queries): Promise<KeptRow[]> {
  return queries
    .selectFrom("kept_counts")
    .select(["application_id", "kind", "counted"])
    .where("application_id", "in", applicationIds)
    .execute();
}

/** Counts many objects as of last night, and few by their rows. */
async function findTotal(
  table: "devices" | "users",
  applicationId: string,
  kept: readonly KeptRow[],
  queries: Queries,
): Promise<RoughCount> {
  const last =
    kept.find(({ application_id, kind }) => application_id === applicationId && kind === table)?.counted ?? 0;
  if (last > countMax) return { count: last, isExact: false };
  const { count, isMore } = await countRows(countedRows(table, applicationId), queries);
  return { count, isExact: !isMore };
}

function sumOf(counts: readonly Sum[]): number {
  return counts.reduce((total: number, count) => total + Number(count), 0);
}
