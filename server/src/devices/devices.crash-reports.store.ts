import type { Queries } from "../db/database.ts";
import type { CrashReportRow } from "../db/tables.ts";

export async function insertCrashReport(row: CrashReportRow, queries: Queries): Promise<void> {
  await queries.insertInto("crash_reports").values(row).execute();
}
