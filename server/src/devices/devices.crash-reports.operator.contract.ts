import { applicationPathParameters } from "../auth/operated-application.ts";
import { PageOf, pagingParameters } from "../contract/paging.ts";
import { compileParameters } from "../contract/parameters.ts";
import { enumeration, named, type Static, Type, withLimits } from "../contract/schema.ts";
import { sortOrders } from "../contract/search.ts";
import {
  Choice,
  ClearableText,
  DateInput,
  DateRangeInput,
  Flag,
  IdInput,
  Integer,
  Members,
  Text,
  WireDate,
  WireLocation,
} from "../contract/wire.ts";
import { listAppFrames } from "../crashes/stack-frames.ts";
import type {
  CrashGroupDayRow,
  CrashGroupRow,
  CrashGroupState,
  CrashGroupVersionRow,
  CrashReportRow,
} from "../db/tables.ts";
import { formatDate } from "../lib/dates.ts";
import { ApiError } from "../lib/errors.ts";
import { type Range, spans, startOf } from "../lib/spans.ts";
import type { CrashGroupChange, CrashGroupSearch } from "./devices.crash-groups.store.ts";

export const CrashGroupsPath = Type.Object(applicationPathParameters);

export const CrashGroupPath = Type.Object({
  ...applicationPathParameters,
  fingerprint: Text({ maxLength: 256, description: "The fingerprint of the crash, as in the list of crashes." }),
});

const CrashState = enumeration<CrashGroupState>("CrashGroupState", "The decision of operators about a crash.", {
  open: "None yet, or a report reopened it.",
  resolved: "It is fixed, permanently or in a version.",
  ignored: "It is ignored, permanently or until it gets worse.",
});

export const ListCrashGroups = Type.Object({
  state: Type.Optional(Choice(CrashState, { description: "Only crashes in this state." })),
  appVersion: Type.Optional(Text({ maxLength: 256, description: "Only crashes that this version reported." })),
  platform: Type.Optional(
    Text({ maxLength: 256, description: "Only crashes that devices of exactly this platform reported." }),
  ),
  deviceID: Type.Optional({ ...IdInput("Device"), description: "Only crashes that this device reported." }),
  firstSeen: Type.Optional(DateRangeInput({ description: "The time of its first report." })),
  reopened: Type.Optional(Flag({ description: "Only crashes that a report has reopened, or only others." })),
  sortOrder: Type.Optional(
    Choice(sortOrders("CrashGroupSortOrder", ["lastSeen", "firstSeen", "reports"]), {
      description: "The order of the groups.",
      default: "-lastSeen",
    }),
  ),
  ...pagingParameters,
});

/** @returns the column and direction that groups are sorted by, and the filters */
export function readGroupSearch({
  sortOrder = "-lastSeen",
  state,
  appVersion,
  platform,
  deviceID,
  firstSeen,
  reopened,
}: Static<typeof ListCrashGroups>): CrashGroupSearch {
  const isDescending = sortOrder.startsWith("-");
  // With or without -.
  const name = (isDescending ? sortOrder.slice(1) : sortOrder) as CrashGroupSearch["name"];
  return {
    name,
    isDescending,
    ...(state !== undefined && { state }),
    ...(appVersion !== undefined && { appVersion }),
    ...(platform !== undefined && { platform }),
    ...(deviceID !== undefined && { deviceID }),
    ...(firstSeen !== undefined && { firstSeen }),
    ...(reopened !== undefined && { isReopened: reopened }),
  };
}

/** The maximum number of app versions that a group shows. */
export const versionsMax = 20;

/** The maximum number of platforms that a group shows: any client can report any platform. */
export const platformsMax = 10;

const CrashGroupVersion = named(
  "CrashGroupVersion",
  "The reports of a crash from one version of the app.",
  Type.Object({
    appVersion: Type.Optional(Type.String({ description: "Absent for devices that reported none." })),
    reports: Type.Integer({ description: "The number of its reports." }),
    firstSeen: { ...WireDate, description: "The time of the first report." },
    lastSeen: { ...WireDate, description: "The time of the last report." },
  }),
);

const CrashDay = named(
  "CrashDay",
  "The reports of a crash on one day, in UTC.",
  Type.Object({
    start: { ...WireDate, description: "The beginning of the day." },
    reports: Type.Integer({ description: "The number of reports." }),
  }),
);

const IgnoreUntil = named(
  "CrashIgnoreUntil",
  "The conditions that reopen an ignored crash: any of them.",
  Type.Object({
    reports: Type.Optional(
      Integer({ minimum: 1, maximum: 1_000_000_000, description: "The number of further reports." }),
    ),
    devices: Type.Optional(
      Integer({ minimum: 1, maximum: 1_000_000_000, description: "The number of further devices." }),
    ),
    date: Type.Optional(DateInput({ description: "The first report from this date on." })),
  }),
);

export const ChangeCrashGroup = Type.Object({
  state: Type.Optional(Choice(CrashState, { description: "Replaces the earlier decision." })),
  resolvedIn: Type.Optional(
    Text({ maxLength: 256, description: "With state resolved: the version of the app in which it is fixed." }),
  ),
  ignoreUntil: Type.Optional(
    Members(IgnoreUntil, { description: "With state ignored: what reopens it; absent for nothing." }),
  ),
  note: Type.Optional(
    ClearableText({ maxLength: 4_000, description: "A note of operators. An empty string deletes it." }),
  ),
});

const readIgnoreUntil = compileParameters(IgnoreUntil);

/** @throws ApiError ParameterOutOfRange for a member that needs another state */
export function readCrashGroupChange({
  state,
  resolvedIn,
  ignoreUntil,
  note,
}: Static<typeof ChangeCrashGroup>): CrashGroupChange {
  if (resolvedIn !== undefined && state !== "resolved") throw needsState("resolvedIn", "resolved");
  if (ignoreUntil !== undefined && state !== "ignored") throw needsState("ignoreUntil", "ignored");
  return {
    ...(state !== undefined && { state }),
    ...(resolvedIn !== undefined && { resolvedIn }),
    ...(ignoreUntil !== undefined && { ignoreUntil: readIgnoreUntil(Object.entries(ignoreUntil)) }),
    ...(note !== undefined && { note }),
  };
}

function needsState(parameter: string, state: CrashGroupState): ApiError {
  return new ApiError("ParameterOutOfRange", `${parameter} needs the state ${state}.`, { parameter });
}

export const CrashGroup = named(
  "CrashGroup",
  "The reports of one bug.",
  Type.Object({
    fingerprint: Type.String({ description: "Identifies the bug: all reports of a bug have the same fingerprint." }),
    title: Type.String({ description: "The error and its place in the code, for a list." }),
    reports: Type.Integer({ description: "The number of reports." }),
    devices: Type.Integer({ description: "The number of devices that reported it." }),
    versions: Type.Array(CrashGroupVersion),
    platforms: { ...Type.Array(Type.String()), description: "The platforms of these devices, at most 10." },
    days: { ...Type.Array(CrashDay), description: "The last 14 days, without days that have no reports." },
    firstSeen: { ...WireDate, description: "The time of the first report." },
    lastSeen: { ...WireDate, description: "The time of the last report." },
    state: CrashState,
    resolvedIn: Type.Optional(Type.String({ description: "Absent if it is resolved in no particular version." })),
    ignoreUntil: Type.Optional(
      named(
        "CrashIgnored",
        "The conditions that reopen an ignored crash.",
        Type.Object({
          reports: Type.Optional(Type.Integer({ description: "The number of further reports." })),
          devices: Type.Optional(Type.Integer({ description: "The number of further devices." })),
          date: Type.Optional({ ...WireDate, description: "The first report from this date on." }),
        }),
      ),
    ),
    reopened: Type.Optional({ ...WireDate, description: "The time at which a report reopened it." }),
    note: Type.Optional(Type.String({ description: "A note of operators." })),
  }),
);

export const CrashGroupPage = PageOf(CrashGroup);

/** The number of days in a group. */
export const daysShown = 14;

type Days = readonly Pick<CrashGroupDayRow, "day" | "reports">[];

export function presentCrashGroup(
  group: CrashGroupRow & {
    readonly versions: readonly CrashGroupVersionRow[];
    readonly platforms: readonly string[];
    readonly days: Days;
  },
): Static<typeof CrashGroup> {
  const { resolved_in, reopened_at, note } = group;
  const ignoreUntil = presentIgnoreUntil(group);
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
    platforms: [...group.platforms],
    days: presentDays(group.days),
    firstSeen: formatDate(group.first_seen_at),
    lastSeen: formatDate(group.last_seen_at),
    state: group.state,
    ...(resolved_in !== null && { resolvedIn: resolved_in }),
    ...(ignoreUntil !== undefined && { ignoreUntil }),
    ...(reopened_at !== null && { reopened: formatDate(reopened_at) }),
    ...(note !== null && { note }),
  };
}

function presentDays(days: Days): Static<typeof CrashDay>[] {
  return days.map(({ day, reports }) => ({ start: formatDate(day), reports }));
}

/** Presents the remaining numbers of reports and devices, so that a PATCH with the result restores the state. */
function presentIgnoreUntil(group: CrashGroupRow): Static<typeof CrashGroup>["ignoreUntil"] {
  const { ignored_until_reports, ignored_until_devices, ignored_until_date } = group;
  if (ignored_until_reports === null && ignored_until_devices === null && ignored_until_date === null) return undefined;
  return {
    ...(ignored_until_reports !== null && { reports: ignored_until_reports - group.reports }),
    ...(ignored_until_devices !== null && { devices: ignored_until_devices - group.devices }),
    ...(ignored_until_date !== null && { date: formatDate(ignored_until_date) }),
  };
}

export const ReadCrashStatistics = Type.Object({
  from: Type.Optional(DateInput({ description: "A time on the first day; 13 days before `to` by default." })),
  to: Type.Optional(DateInput({ description: "A time on the last day; now by default." })),
});

/** The maximum number of versions of app and system in statistics. */
export const systemsMax = 200;

export const CrashStatistics = named(
  "CrashStatistics",
  "The reports of a crash in a range of days.",
  Type.Object({
    from: { ...WireDate, description: "The beginning of the range." },
    to: { ...WireDate, description: "The end of the range, exclusive." },
    days: { ...Type.Array(CrashDay), description: "The days with reports, oldest first." },
    versions: {
      ...Type.Array(
        named(
          "CrashVersions",
          "The reports from one version of the app on one version of the system.",
          Type.Object({
            appVersion: Type.Optional(Type.String({ description: "Absent for devices that reported none." })),
            osVersion: Type.Optional(Type.String({ description: "Absent for devices that reported none." })),
            reports: Type.Integer({ description: "The number of reports." }),
          }),
        ),
      ),
      description: "The versions with most reports, at most 200.",
    },
  }),
);

/** @throws ApiError ParameterOutOfRange */
export function readCrashRange({ from, to }: Static<typeof ReadCrashStatistics>, now: number): Range {
  const end = startOf("day", to ?? now) + spans.day;
  const start = from === undefined ? end - daysShown * spans.day : startOf("day", from);
  if (start >= end) throw new ApiError("ParameterOutOfRange", "to must not be before from.", { parameter: "to" });
  if (end - start > daysMax * spans.day) {
    throw new ApiError("ParameterOutOfRange", `from and to must not be more than ${daysMax} days apart.`);
  }
  return { from: start, to: end };
}

const daysMax = 2_000;

export function presentCrashStatistics(
  { from, to }: Range,
  days: Days,
  versions: readonly Pick<CrashGroupDayRow, "app_version" | "os_version" | "reports">[],
): Static<typeof CrashStatistics> {
  return {
    from: formatDate(from),
    to: formatDate(to),
    days: presentDays(days),
    versions: versions.map(({ app_version, os_version, reports }) => ({
      ...(app_version !== "" && { appVersion: app_version }),
      ...(os_version !== "" && { osVersion: os_version }),
      reports,
    })),
  };
}

/** Smaller than other pages, because stack traces are long. */
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
    tag: Type.Optional(Type.String({ description: "A free text of the app." })),
    location: Type.Optional(WireLocation),
    created: WireDate,
    appFrames: {
      ...Type.Array(Type.Integer()),
      description: "The lines of stackTrace, from 0, that are frames of the app, not of a system or library.",
    },
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
    appFrames: listAppFrames(report.stack_trace),
  };
}
