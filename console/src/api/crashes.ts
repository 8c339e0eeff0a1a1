import type { Static } from "../../../server/src/contract/schema.ts";
import type {
  CrashGroupPage,
  CrashReportPage,
} from "../../../server/src/devices/devices.crash-reports.operator.contract.ts";
import { operation } from "./call.ts";
import type { PageParameters } from "./pages.ts";

export type CrashGroup = Static<typeof CrashGroupPage>["pageResults"][number];
export type CrashReport = Static<typeof CrashReportPage>["pageResults"][number];

export const listCrashGroups = operation<
  { appid: string; sortOrder?: string } & PageParameters,
  Static<typeof CrashGroupPage>
>("GET", "/applications/{appid}/crashes", ["appid", "sortOrder", "pageSize", "pagingToken"]);

export const listCrashReports = operation<
  { appid: string; fingerprint: string } & PageParameters,
  Static<typeof CrashReportPage>
>("GET", "/applications/{appid}/crashes/{fingerprint}/reports", ["appid", "fingerprint", "pageSize", "pagingToken"]);
