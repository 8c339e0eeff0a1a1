import { applicationPathParameters } from "../auth/operated-application.ts";
import { PageOf, pagingParameters } from "../contract/paging.ts";
import { named, type Static, Type, withLimits } from "../contract/schema.ts";
import { sortOrders } from "../contract/search.ts";
import { Choice, Integer, Text, WireDate, WireLocation } from "../contract/wire.ts";
import type { CrashGroupRow, CrashGroupVersionRow, CrashReportRow } from "../db/tables.ts";
import { formatDate } from "../lib/dates.ts";

export const CrashGroupsPath = Type.Object(applicationPathParameters);

export const CrashReportsPath = Type.Object({
  ...applicationPathParameters,
  fingerprint: Text({ maxLength: 256, description: "Of the crash, as in the list of crashes." }),
});

export const ListCrashGroups = Type.Object({
  sortOrder: Type.Optional(
    Choice(sortOrders("CrashGroupSortOrder", ["lastSeen", "firstSeen", "reports"]), {
      description: "What the groups are sorted by.",
      default: "-lastSeen",
    }),
  ),
  ...pagingParameters,
});

/** @returns the column and direction that groups are sorted by */
export function readGroupOrder({ sortOrder = "-lastSeen" }: Static<typeof ListCrashGroups>) {
  const isDescending = sortOrder.startsWith("-");
  // With or without -.
  const name = (isDescending ? sortOrder.slice(1) : sortOrder) as "lastSeen" | "firstSeen" | "reports";
  return { name, isDescending };
}

/** The maximum number of app versions that a group shows. */
export const versionsMax = 20;

const CrashGroupVersion = named(
  "CrashGroupVersion",
  "The reports of a crash from one version of the app.",
  Type.Object({
    appVersion: Type.Optional(Type.String({ description: "Absent for devices that reported none." })),
    reports: Type.Integer({ description: "The number of its reports." }),
    firstSeen: { ...WireDate, description: "When the first report arrived." },
    lastSeen: { ...WireDate, description: "When the last report arrived." },
  }),
);

const CrashGroup = named(
  "CrashGroup",
  "The reports of one bug.",
  Type.Object({
    fingerprint: Type.String({ description: "Identifies the bug: reports of one bug have the same." }),
    title: Type.String({ description: "The error and where it happened, for a list." }),
    reports: Type.Integer({ description: "The number of reports." }),
    devices: Type.Integer({ description: "The number of devices that reported it." }),
    versions: Type.Array(CrashGroupVersion),
    firstSeen: { ...WireDate, description: "When the first report arrived." },
    lastSeen: { ...WireDate, description: "When the last report arrived." },
  }),
);

export const CrashGroupPage = PageOf(CrashGroup);

export function presentCrashGroup(
  group: CrashGroupRow & { readonly versions: readonly CrashGroupVersionRow[] },
): Static<typeof CrashGroup> {
  return {
    fingerprint: group.fingerprint,
    title: group.title,
    reports: group.reports,
    devices: group.devices,
    versions: group.versions.map(({ app_version, reports, first_seen_at, last_seen_at }) => ({
      ...(app_version !== "" && { appVersion: app_version }),
      reports,
      firstSeen: formatDate(first_seen_at),
      lastSeen: formatDate(last_seen_at),
    })),
    firstSeen: formatDate(group.first_seen_at),
    lastSeen: formatDate(group.last_seen_at),
  };
}

/** Smaller pages than elsewhere, because stack traces are long. */
export const reportsPerPageMax = 100;

export const ListCrashReports = Type.Object({
  ...pagingParameters,
  pageSize: Type.Optional(
    withLimits(
      Integer({ maximum: reportsPerPageMax, description: "The number of reports on the page." }),
      ({ pageItemsDefault }) => ({ minimum: 1, default: Math.min(pageItemsDefault, reportsPerPageMax) }),
    ),
  ),
});

const ListedCrashReport = named(
  "ListedCrashReport",
  "A crash of the app on a device, as operators see it.",
  Type.Object({
    id: Type.String(),
    deviceID: Type.String(),
    stackTrace: Type.String(),
    message: Type.Optional(Type.String()),
    methodName: Type.Optional(Type.String()),
    appVersion: Type.Optional(Type.String()),
    osVersion: Type.Optional(Type.String()),
    tag: Type.Optional(Type.String({ description: "Any text of the app." })),
    location: Type.Optional(WireLocation),
    created: WireDate,
  }),
);

export const CrashReportPage = PageOf(ListedCrashReport);

export function presentListedCrashReport(report: CrashReportRow): Static<typeof ListedCrashReport> {
  const { lat, lng } = report;
  return {
    id: report.id,
    deviceID: report.device_id,
    stackTrace: report.stack_trace,
    ...(report.message !== null && { message: report.message }),
    ...(report.method_name !== null && { methodName: report.method_name }),
    ...(report.app_version !== null && { appVersion: report.app_version }),
    ...(report.os_version !== null && { osVersion: report.os_version }),
    ...(report.tag !== null && { tag: report.tag }),
    ...(lat !== null && lng !== null && { location: { lat, lng } }),
    created: formatDate(report.created_at),
  };
}
