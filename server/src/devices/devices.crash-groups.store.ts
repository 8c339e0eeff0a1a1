import { sql } from "kysely";
import { equals, type Order } from "../db/conditions.ts";
import type { Queries } from "../db/database.ts";
import { readPage } from "../db/page.ts";
import { prepare } from "../db/prepared.ts";
import { rowLimit } from "../db/row-limit.ts";
import { scopeStream } from "../db/scope.ts";
import type { CrashGroupRow, CrashGroupVersionRow, CrashReportRow } from "../db/tables.ts";
import type { Page, Position } from "../lib/keyset.ts";

/**
 * Counts a report in its group, in the same transaction. All reports run the statements in one order, from the rows
 * that few reports share to the row that all reports of a bug share, which keeps lock waits short and prevents
 * deadlocks.
 *
 * @param title the name of the group if this is its first report
 */
export async function countInCrashGroup(report: CrashReportRow, title: string, queries: Queries): Promise<void> {
  const { application_id, fingerprint, device_id, created_at } = report;
  const app_version = report.app_version ?? "";
  const newDevices = await insertGroupDevice(queries, { application_id, fingerprint, device_id });
  await countInGroup(queries, { application_id, fingerprint, title, devices: newDevices.length, created_at });
  await countInVersion(queries, { application_id, fingerprint, app_version, created_at });
}

const groupOrders = {
  lastSeen: groupOrder("last_seen_at"),
  firstSeen: groupOrder("first_seen_at"),
  reports: groupOrder("reports"),
};

function groupOrder(column: "last_seen_at" | "first_seen_at" | "reports"): Order<CrashGroupRow> {
  return {
    shape: column,
    columns: [sql.ref(column), sql.ref("fingerprint")],
    keyOf: (row) => [row[column], row.fingerprint],
  };
}

/** A page of an application's groups; each order has its own index. */
export function listCrashGroups(
  applicationId: string,
  order: { readonly name: keyof typeof groupOrders; readonly isDescending: boolean },
  position: Position,
  size: number,
  queries: Queries,
): Promise<Page<CrashGroupRow>> {
  const scope = {
    shape: "crash groups",
    from: sql`crash_groups`,
    select: sql`*`,
    conditions: [equals("application_id", applicationId)],
  };
  return readPage(scopeStream(scope, groupOrders[order.name], order.isDescending, queries), position, size);
}

/** The app versions in which a group was seen, the most recent first. */
export function listCrashGroupVersions(
  applicationId: string,
  fingerprint: string,
  count: number,
  queries: Queries,
): Promise<CrashGroupVersionRow[]> {
  return findVersions(queries, { applicationId, fingerprint, count });
}

/** @returns whether the application has this group, even if all its reports were deleted */
export async function hasCrashGroup(applicationId: string, fingerprint: string, queries: Queries): Promise<boolean> {
  const found = await findGroup(queries, { applicationId, fingerprint });
  return found.length > 0;
}

const findGroup = prepare<{ applicationId: string; fingerprint: string }, { fingerprint: string }>(
  (queries, parameter) =>
    queries
      .selectFrom("crash_groups")
      .select("fingerprint")
      .where("application_id", "=", parameter("applicationId"))
      .where("fingerprint", "=", parameter("fingerprint")),
);

const findVersions = prepare<{ applicationId: string; fingerprint: string; count: number }, CrashGroupVersionRow>(
  (queries, parameter) =>
    queries
      .selectFrom("crash_group_versions")
      .selectAll()
      .where("application_id", "=", parameter("applicationId"))
      .where("fingerprint", "=", parameter("fingerprint"))
      .orderBy("last_seen_at", "desc")
      .orderBy("app_version", "desc")
      .limit(rowLimit(parameter("count"))),
);

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

/** Reports of several processes arrive in any order. */
function seenAt(table: "crash_groups" | "crash_group_versions") {
  const [first, last] = [sql.ref(`${table}.first_seen_at`), sql.ref(`${table}.last_seen_at`)];
  return {
    first_seen_at: sql<number>`case when excluded.first_seen_at < ${first} then excluded.first_seen_at else ${first} end`,
    last_seen_at: sql<number>`case when excluded.last_seen_at > ${last} then excluded.last_seen_at else ${last} end`,
  };
}
