import { sql } from "kysely";
import type { Queries } from "../db/database.ts";
import { prepare } from "../db/prepared.ts";
import { rowLimit } from "../db/row-limit.ts";
import { type Condition, condition, equals, type Order, within } from "../db/search/conditions.ts";
import { readPage } from "../db/search/page.ts";
import { scopeStream } from "../db/search/scope.ts";
import type { CrashGroupRow, CrashGroupState, CrashGroupVersionRow, CrashReportRow } from "../db/tables.ts";
import type { CallWork } from "../lib/call-work.ts";
import type { DateRange } from "../lib/dates.ts";
import type { Page, Position } from "../lib/keyset.ts";
import { countOnDay } from "./devices.crash-days.store.ts";
import { reopenByReport } from "./devices.crash-states.ts";

/**
 * Counts a report in its group, in the caller's transaction. The statements always lock rows in the same order, which
 * prevents deadlocks, and rows that many reports share come late, which shortens lock waits.
 *
 * @returns whether it is the first report of the group
 */
export async function countInCrashGroup(
  report: CrashReportRow,
  { title, platform }: CrashContext,
  queries: Queries,
): Promise<boolean> {
  const { application_id, fingerprint, device_id, created_at } = report;
  const app_version = report.app_version ?? "";
  const newDevices = await insertGroupDevice(queries, { application_id, fingerprint, device_id });
  const devices = newDevices.length;
  await insertGroupPlatform(queries, { application_id, fingerprint, platform });
  const [group] = await countInGroup(queries, { application_id, fingerprint, title, devices, created_at });
  if (group !== undefined && group.state !== "open") await reopenByReport(group, report, queries);
  await countInVersion(queries, { application_id, fingerprint, app_version, created_at });
  await countOnDay(report, queries);
  return group?.reports === 1;
}

/** Data for the group that is not in the report. */
export interface CrashContext {
  /** The title of the group, if this is its first report. */
  readonly title: string;
  /** The platform of the device. */
  readonly platform: string;
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

export interface CrashGroupSearch {
  readonly name: keyof typeof groupOrders;
  readonly isDescending: boolean;
  readonly state?: CrashGroupState;
  readonly appVersion?: string;
  readonly platform?: string;
  readonly deviceID?: string;
  readonly firstSeen?: DateRange;
  readonly isReopened?: boolean;
}

/** Lists a page of an application's groups. Each order has two indexes, with and without the state. */
export function listCrashGroups(
  applicationId: string,
  { name, isDescending, state, appVersion, platform, deviceID, firstSeen, isReopened }: CrashGroupSearch,
  position: Position,
  size: number,
  queries: Queries,
  work?: CallWork,
): Promise<Page<CrashGroupRow>> {
  const conditions = [equals("application_id", applicationId)];
  if (state !== undefined) conditions.push(equals("state", state));
  if (appVersion !== undefined) conditions.push(isReportedBy("version", "app_version", appVersion));
  if (platform !== undefined) conditions.push(isReportedBy("platform", "platform", platform));
  if (deviceID !== undefined) conditions.push(isReportedBy("device", "device_id", deviceID));
  if (firstSeen !== undefined) conditions.push(...within("first_seen_at", firstSeen));
  if (isReopened !== undefined) {
    const words = isReopened ? "reopened_at is not null" : "reopened_at is null";
    conditions.push(condition(words, {}, () => sql.raw(words)));
  }
  const scope = { shape: "crash groups", from: sql`crash_groups`, select: sql`*`, conditions };
  return readPage(scopeStream(scope, groupOrders[name], isDescending, queries), position, size, work);
}

/** Matches groups with a lookup by the primary key of their versions, platforms or devices. */
function isReportedBy(
  what: "version" | "platform" | "device",
  column: "app_version" | "platform" | "device_id",
  value: string,
): Condition {
  const table = sql.table(`crash_group_${what}s`);
  return condition(
    `reported by ${what}`,
    { [what]: value },
    (parameter) => sql`exists (
      select 1 from ${table} as reporter
      where reporter.application_id = ${parameter("application_id")}
        and reporter.fingerprint = crash_groups.fingerprint
        and reporter.${sql.ref(column)} = ${parameter(what)}
    )`,
  );
}

/** Lists the app versions that reported a group, the most recent first. */
export function listCrashGroupVersions(
  applicationId: string,
  fingerprint: string,
  count: number,
  queries: Queries,
): Promise<CrashGroupVersionRow[]> {
  return findVersions(queries, { applicationId, fingerprint, count });
}

/** Lists the platforms of the devices that reported a group, in alphabetical order. */
export async function listCrashGroupPlatforms(
  applicationId: string,
  fingerprint: string,
  count: number,
  queries: Queries,
): Promise<string[]> {
  const rows = await findPlatforms(queries, { applicationId, fingerprint, count });
  return rows.map(({ platform }) => platform);
}

/** Finds a group, even if all its reports are deleted. */
export async function findCrashGroup(
  applicationId: string,
  fingerprint: string,
  queries: Queries,
): Promise<CrashGroupRow | undefined> {
  const [found] = await findGroup(queries, { applicationId, fingerprint });
  return found;
}

const findGroup = prepare<{ applicationId: string; fingerprint: string }, CrashGroupRow>((queries, parameter) =>
  queries
    .selectFrom("crash_groups")
    .selectAll()
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

const findPlatforms = prepare<{ applicationId: string; fingerprint: string; count: number }, { platform: string }>(
  (queries, parameter) =>
    queries
      .selectFrom("crash_group_platforms")
      .select("platform")
      .where("application_id", "=", parameter("applicationId"))
      .where("fingerprint", "=", parameter("fingerprint"))
      .orderBy("platform")
      .limit(rowLimit(parameter("count"))),
);

/** An operator's change of a group: a state, a note or both. */
export interface CrashGroupChange {
  readonly state?: CrashGroupState;
  readonly resolvedIn?: string;
  /** The number of further reports or devices, or the date, that end the ignored state. */
  readonly ignoreUntil?: { readonly reports?: number; readonly devices?: number; readonly date?: number };
  /** An empty note deletes the stored one. */
  readonly note?: string;
}

/** @returns undefined if the group does not exist */
export function updateCrashGroup(
  { application_id, fingerprint }: Pick<CrashGroupRow, "application_id" | "fingerprint">,
  { state, resolvedIn, ignoreUntil = {}, note }: CrashGroupChange,
  now: number,
  queries: Queries,
): Promise<CrashGroupRow | undefined> {
  const { reports, devices, date } = ignoreUntil;
  return queries
    .updateTable("crash_groups")
    .set((row) => ({
      ...(note !== undefined && { note: note === "" ? null : note }),
      ...(state !== undefined && {
        state,
        state_at: now,
        resolved_in: resolvedIn ?? null,
        ignored_until_reports: reports === undefined ? null : row("reports", "+", reports),
        ignored_until_devices: devices === undefined ? null : row("devices", "+", devices),
        ignored_until_date: date ?? null,
        reopened_at: null,
      }),
    }))
    .where("application_id", "=", application_id)
    .where("fingerprint", "=", fingerprint)
    .returningAll()
    .executeTakeFirst();
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

const insertGroupPlatform = prepare<{ application_id: string; fingerprint: string; platform: string }, unknown>(
  (queries, parameter) =>
    queries
      .insertInto("crash_group_platforms")
      .values({
        application_id: parameter("application_id"),
        fingerprint: parameter("fingerprint"),
        platform: parameter("platform"),
      })
      .onConflict((conflict) => conflict.doNothing()),
);

const countInGroup = prepare<
  Pick<CrashGroupRow, "application_id" | "fingerprint" | "title" | "devices"> & { created_at: number },
  CrashGroupRow
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
    )
    .returningAll(),
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

/** Updates the first and last time, because reports of several processes arrive in any order. */
function seenAt(table: "crash_groups" | "crash_group_versions") {
  const [first, last] = [sql.ref(`${table}.first_seen_at`), sql.ref(`${table}.last_seen_at`)];
  return {
    first_seen_at: sql<number>`case when excluded.first_seen_at < ${first} then excluded.first_seen_at else ${first} end`,
    last_seen_at: sql<number>`case when excluded.last_seen_at > ${last} then excluded.last_seen_at else ${last} end`,
  };
}
