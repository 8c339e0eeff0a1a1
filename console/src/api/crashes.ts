import type { Static } from "../../../server/src/contract/schema.ts";
import type {
  CrashGroupPage,
  CrashGroup as CrashGroupResult,
  CrashReportPage,
  CrashStatistics as CrashStatisticsResult,
} from "../../../server/src/devices/devices.crash-reports.operator.contract.ts";
import { operation } from "./call.ts";
import type { PageParameters } from "./pages.ts";

export type CrashGroup = Static<typeof CrashGroupResult>;
export type CrashReport = Static<typeof CrashReportPage>["pageResults"][number];
export type CrashStatistics = Static<typeof CrashStatisticsResult>;

interface CrashFilters {
  readonly state?: string;
  readonly appVersion?: string;
  readonly platform?: string;
  readonly deviceID?: string;
  /** A range of times. */
  readonly firstSeen?: string;
  readonly reopened?: string;
  readonly sortOrder?: string;
}

/** A decision about a crash, as `CrashGroup` answers it. */
export type CrashChange = Partial<Pick<CrashGroup, "state" | "resolvedIn" | "ignoreUntil" | "note">>;

interface CrashPath {
  readonly appid: string;
  readonly fingerprint: string;
}

export const listCrashGroups = operation<
  { appid: string } & CrashFilters & PageParameters,
  Static<typeof CrashGroupPage>
>("GET", "/applications/{appid}/crashes", [
  "appid",
  "state",
  "appVersion",
  "platform",
  "deviceID",
  "firstSeen",
  "reopened",
  "sortOrder",
  "pageSize",
  "pagingToken",
]);

export const getCrashGroup = operation<CrashPath, CrashGroup>("GET", "/applications/{appid}/crashes/{fingerprint}", [
  "appid",
  "fingerprint",
]);

export const changeCrashGroup = operation<CrashPath & CrashChange, CrashGroup>(
  "PATCH",
  "/applications/{appid}/crashes/{fingerprint}",
  ["appid", "fingerprint", "state", "resolvedIn", "ignoreUntil", "note"],
);

export const readCrashStatistics = operation<CrashPath, CrashStatistics>(
  "GET",
  "/applications/{appid}/crashes/{fingerprint}/statistics",
  ["appid", "fingerprint"],
);

export const listCrashReports = operation<CrashPath & PageParameters, Static<typeof CrashReportPage>>(
  "GET",
  "/applications/{appid}/crashes/{fingerprint}/reports",
  ["appid", "fingerprint", "pageSize", "pagingToken"],
);
