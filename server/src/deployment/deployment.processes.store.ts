import type { Queries } from "../db/database.ts";
import { rowLimit } from "../db/row-limit.ts";
import type { ProcessReport, ReportingProcess } from "./process-report.ts";

const retentionMs = 86_400_000;
const processesMax = 1_000;

/** Stores the last report of a process, and deletes reports older than a day. */
export async function saveReport(process: ReportingProcess, queries: Queries): Promise<void> {
  const { id, machine, worker, version, startedAt, heardAt, report } = process;
  const changed = { heard_at: heardAt, report: JSON.stringify(report) };
  await queries
    .insertInto("server_processes")
    .values({ id, machine, worker, version, started_at: startedAt, ...changed })
    .onConflict((conflict) => conflict.column("id").doUpdateSet(changed))
    .execute();
  await queries
    .deleteFrom("server_processes")
    .where("heard_at", "<", heardAt - retentionMs)
    .execute();
}

/** Lists the processes that reported within a day, the latest first. */
export async function listReports(now: number, queries: Queries): Promise<ReportingProcess[]> {
  const rows = await queries
    .selectFrom("server_processes")
    .selectAll()
    .where("heard_at", ">=", now - retentionMs)
    .orderBy("heard_at", "desc")
    .limit(rowLimit(processesMax))
    .execute();
  return rows.map(({ id, machine, worker, version, started_at, heard_at, report }) => ({
    ...{ id, machine, worker, version, startedAt: started_at, heardAt: heard_at },
    report: JSON.parse(report) as ProcessReport, // only saveReport writes it
  }));
}
