import { sql } from "kysely";
import type { Database, Queries } from "../db/database.ts";
import { equals, type Order } from "../db/search/conditions.ts";
import { readPage } from "../db/search/page.ts";
import { scopeStream } from "../db/search/scope.ts";
import { inSteps, rowsPerStep } from "../db/steps.ts";
import type { CrashReportRow } from "../db/tables.ts";
import type { Page, Position } from "../lib/keyset.ts";
import { deleteOldCrashDays } from "./devices.crash-days.store.ts";
import { type CrashContext, countInCrashGroup } from "./devices.crash-groups.store.ts";

/**
 * Stores a report, and counts it in its group.
 *
 * @returns whether it is the first report of the group
 */
export async function insertCrashReport(
  row: CrashReportRow,
  context: CrashContext,
  queries: Queries,
): Promise<boolean> {
  await queries.insertInto("crash_reports").values(row).execute();
  return countInCrashGroup(row, context, queries);
}

/** Deletes reports before a time and their counts by day, a bounded number per transaction. The groups stay. */
export async function deleteOldCrashReports(
  applicationId: string,
  before: number,
  database: Database,
  signal?: AbortSignal,
): Promise<void> {
  await inSteps(database, signal, async (queries) => {
    const old = await queries
      .selectFrom("crash_reports")
      .select("id")
      .where("application_id", "=", applicationId)
      .where("created_at", "<", before)
      .orderBy("created_at")
      .orderBy("id")
      .limit(rowsPerStep)
      .execute();
    if (old.length === 0) return 0;
    await queries
      .deleteFrom("crash_reports")
      .where("application_id", "=", applicationId)
      .where(
        "id",
        "in",
        old.map(({ id }) => id),
      )
      .execute();
    return old.length;
  });
  await deleteOldCrashDays(applicationId, before, database, signal);
}

const reportOrder: Order<CrashReportRow> = {
  shape: "created_at",
  columns: [sql.ref("created_at"), sql.ref("id")],
  keyOf: ({ created_at, id }) => [created_at, id],
};

/** Lists a page of a group's reports, newest first. */
export function listCrashReports(
  applicationId: string,
  fingerprint: string,
  position: Position,
  size: number,
  queries: Queries,
): Promise<Page<CrashReportRow>> {
  const scope = {
    shape: "crash reports",
    from: sql`crash_reports`,
    select: sql`*`,
    conditions: [equals("application_id", applicationId), equals("fingerprint", fingerprint)],
  };
  return readPage(scopeStream(scope, reportOrder, true, queries), position, size);
}
