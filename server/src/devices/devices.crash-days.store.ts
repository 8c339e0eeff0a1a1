import { sql } from "kysely";
import type { Database, Queries } from "../db/database.ts";
import { prepare } from "../db/prepared.ts";
import { deleteOldIntervals } from "../db/steps.ts";
import type { CrashGroupDayRow, CrashReportRow } from "../db/tables.ts";
import { type Range, spans, startOf } from "../lib/spans.ts";

/** Counts a report by day and by the versions of app and system. */
export async function countOnDay(report: CrashReportRow, queries: Queries): Promise<void> {
  const { application_id, fingerprint, app_version, os_version, created_at } = report;
  await countInDay(queries, {
    application_id,
    fingerprint,
    day: startOf("day", created_at),
    app_version: app_version ?? "",
    os_version: os_version ?? "",
  });
}

const countInDay = prepare<Omit<CrashGroupDayRow, "reports">, unknown>((queries, parameter) =>
  queries
    .insertInto("crash_group_days")
    .values({
      application_id: parameter("application_id"),
      fingerprint: parameter("fingerprint"),
      day: parameter("day"),
      app_version: parameter("app_version"),
      os_version: parameter("os_version"),
      reports: 1,
    })
    .onConflict((conflict) =>
      conflict
        .columns(["application_id", "fingerprint", "day", "app_version", "os_version"])
        .doUpdateSet({ reports: sql`crash_group_days.reports + 1` }),
    ),
);

/** Lists the days with reports of groups, in order. */
export function listCrashDays(
  applicationId: string,
  fingerprints: readonly string[],
  { from, to }: Range,
  queries: Queries,
): Promise<Pick<CrashGroupDayRow, "fingerprint" | "day" | "reports">[]> {
  return queries
    .selectFrom("crash_group_days")
    .select(["fingerprint", "day", sql<number>`cast(sum(reports) as bigint)`.as("reports")])
    .where("application_id", "=", applicationId)
    .where("fingerprint", "in", fingerprints)
    .where("day", ">=", from)
    .where("day", "<", to)
    .groupBy(["fingerprint", "day"])
    .orderBy("fingerprint")
    .orderBy("day")
    .execute();
}

/** Lists the versions of app and system with the most reports of a group in a range. */
export function listCrashVersions(
  applicationId: string,
  fingerprint: string,
  { from, to }: Range,
  count: number,
  queries: Queries,
): Promise<Pick<CrashGroupDayRow, "app_version" | "os_version" | "reports">[]> {
  return queries
    .selectFrom("crash_group_days")
    .select(["app_version", "os_version", sql<number>`cast(sum(reports) as bigint)`.as("reports")])
    .where("application_id", "=", applicationId)
    .where("fingerprint", "=", fingerprint)
    .where("day", ">=", from)
    .where("day", "<", to)
    .groupBy(["app_version", "os_version"])
    .orderBy("reports", "desc")
    .orderBy("app_version")
    .orderBy("os_version")
    .limit(count)
    .execute();
}

/** Deletes the counts of days before the day of `before`. */
export function deleteOldCrashDays(
  applicationId: string,
  before: number,
  database: Database,
  signal?: AbortSignal,
): Promise<void> {
  const condition = sql`application_id = ${applicationId}`;
  const rows = { table: "crash_group_days", start: "day", condition, stepMs: 10 * spans.day } as const;
  return deleteOldIntervals(rows, startOf("day", before), database, signal);
}
