import { compareVersions } from "../crashes/app-versions.ts";
import type { Queries } from "../db/database.ts";
import { prepare } from "../db/prepared.ts";
import type { CrashGroupRow, CrashReportRow } from "../db/tables.ts";

/**
 * Reopens a resolved or ignored group if this report meets the condition (spec/devices#crash-states).
 * @param group counts this report already; the counts of its version do not
 */
export async function reopenByReport(group: CrashGroupRow, report: CrashReportRow, queries: Queries): Promise<void> {
  const isReopened =
    group.state === "resolved" ? !(await isOlder(group, report, queries)) : hasIgnoreExpired(group, report);
  if (!isReopened) return;
  const { application_id, fingerprint, created_at } = report;
  await reopenGroup(queries, { application_id, fingerprint, created_at });
}

async function isOlder(group: CrashGroupRow, report: CrashReportRow, queries: Queries): Promise<boolean> {
  if (group.resolved_in === null) return false;
  const version = report.app_version ?? "";
  const order = compareVersions(version, group.resolved_in);
  if (order !== undefined) return order < 0;
  const { application_id, fingerprint } = report;
  const [ofReport] = await findFirstSeen(queries, { application_id, fingerprint, version });
  const [ofResolved] = await findFirstSeen(queries, { application_id, fingerprint, version: group.resolved_in });
  return (ofReport?.first_seen_at ?? report.created_at) < (ofResolved?.first_seen_at ?? group.state_at);
}

function hasIgnoreExpired(group: CrashGroupRow, { created_at }: CrashReportRow): boolean {
  const { ignored_until_reports, ignored_until_devices, ignored_until_date } = group;
  return (
    (ignored_until_reports !== null && group.reports >= ignored_until_reports) ||
    (ignored_until_devices !== null && group.devices >= ignored_until_devices) ||
    (ignored_until_date !== null && created_at >= ignored_until_date)
  );
}

const findFirstSeen = prepare<
  { application_id: string; fingerprint: string; version: string },
  { first_seen_at: number }
>((queries, parameter) =>
  queries
    .selectFrom("crash_group_versions")
    .select("first_seen_at")
    .where("application_id", "=", parameter("application_id"))
    .where("fingerprint", "=", parameter("fingerprint"))
    .where("app_version", "=", parameter("version")),
);

const reopenGroup = prepare<{ application_id: string; fingerprint: string; created_at: number }, unknown>(
  (queries, parameter) =>
    queries
      .updateTable("crash_groups")
      .set({
        state: "open",
        resolved_in: null,
        ignored_until_reports: null,
        ignored_until_devices: null,
        ignored_until_date: null,
        reopened_at: parameter("created_at"),
      })
      .where("application_id", "=", parameter("application_id"))
      .where("fingerprint", "=", parameter("fingerprint")),
);
