import { sql } from "kysely";
import type { Queries } from "../db/database.ts";
import { prepare } from "../db/prepared.ts";
import type { CrashGroupRow, CrashReportRow } from "../db/tables.ts";

/**
 * Stores a report and counts it in its group. Statements go from what few others touch to what all reports of a bug
 * touch, in one order, so that reports at the same time wait for each other shortly and never in a circle.
 *
 * @param title what the group is called if this is its first report
 */
export async function insertCrashReport(row: CrashReportRow, title: string, queries: Queries): Promise<void> {
  const { application_id, fingerprint, device_id, app_version, created_at } = row;
  await queries.insertInto("crash_reports").values(row).execute();
  const newDevices = await insertGroupDevice(queries, { application_id, fingerprint, device_id });
  await countInGroup(queries, { application_id, fingerprint, title, devices: newDevices.length, created_at });
  await countInVersion(queries, { application_id, fingerprint, app_version: app_version ?? "", created_at });
}

const insertGroupDevice = prepare<
  Pick<CrashReportRow, "application_id" | "fingerprint" | "device_id">,
  { device_id: string }
>((queries, parameter) =>
  queries
    .insertInto("crash_group_devices")
    .values({
      application_id: parameter("application_id"),
      fingerprint: parameter("fingerprint"),
      device_id: parameter("device_id"),
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning("device_id"),
);

const countInGroup = prepare<
  Pick<CrashGroupRow, "application_id" | "fingerprint" | "title" | "devices"> & { created_at: number },
  unknown
>((queries, parameter) =>
  queries
    .insertInto("crash_groups")
    .values({
      application_id: parameter("application_id"),
      fingerprint: parameter("fingerprint"),
      title: parameter("title"),
      reports: 1,
      devices: parameter("devices"),
      first_seen_at: parameter("created_at"),
      last_seen_at: parameter("created_at"),
    })
    .onConflict((conflict) =>
      conflict.columns(["application_id", "fingerprint"]).doUpdateSet({
        reports: sql`crash_groups.reports + 1`,
        devices: sql`crash_groups.devices + excluded.devices`,
        ...seenAt("crash_groups"),
      }),
    ),
);

const countInVersion = prepare<
  { application_id: string; fingerprint: string; app_version: string; created_at: number },
  unknown
>((queries, parameter) =>
  queries
    .insertInto("crash_group_versions")
    .values({
      application_id: parameter("application_id"),
      fingerprint: parameter("fingerprint"),
      app_version: parameter("app_version"),
      reports: 1,
      first_seen_at: parameter("created_at"),
      last_seen_at: parameter("created_at"),
    })
    .onConflict((conflict) =>
      conflict.columns(["application_id", "fingerprint", "app_version"]).doUpdateSet({
        reports: sql`crash_group_versions.reports + 1`,
        ...seenAt("crash_group_versions"),
      }),
    ),
);

/** Reports of several processes come in any order. */
function seenAt(table: "crash_groups" | "crash_group_versions") {
  const [first, last] = [sql.ref(`${table}.first_seen_at`), sql.ref(`${table}.last_seen_at`)];
  return {
    first_seen_at: sql<number>`case when excluded.first_seen_at < ${first} then excluded.first_seen_at else ${first} end`,
    last_seen_at: sql<number>`case when excluded.last_seen_at > ${last} then excluded.last_seen_at else ${last} end`,
  };
}
