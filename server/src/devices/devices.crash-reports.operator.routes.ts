import { requireApplication } from "../auth/operated-application.ts";
import { ApiError } from "../errors.ts";
import { operation } from "../operation.ts";
import { hasCrashGroup, listCrashGroups, listCrashGroupVersions } from "./devices.crash-groups.store.ts";
import {
  CrashGroupPage,
  CrashGroupsPath,
  CrashReportPage,
  CrashReportsPath,
  ListCrashGroups,
  ListCrashReports,
  presentCrashGroup,
  presentListedCrashReport,
  readGroupOrder,
  reportsPerPageMax,
  versionsMax,
} from "./devices.crash-reports.operator.contract.ts";
import { listCrashReports } from "./devices.crash-reports.store.ts";

const listGroups = operation({
  method: "GET",
  path: "/_/api/applications/{appid}/crashes",
  operation: "listCrashGroups",
  summary: "List the crashes of an application, one group per bug",
  description: "Reports are grouped by the parts of their stacks that are the same in every build.",
  tag: "Operators",
  caller: "operator",
  pathParameters: CrashGroupsPath,
  parameters: ListCrashGroups,
  status: 200,
  result: CrashGroupPage,
  errors: ["ItemDoesNotExist"],
  async handle({ caller, path: { appid }, parameters, call }, { database, paging }) {
    const listing = `crashes of ${appid}`;
    const request = await paging.read(listing, caller, parameters, call);
    await requireApplication(appid, database.reads);
    const { position, size } = request;
    const order = readGroupOrder(request.filters);
    const page = await listCrashGroups(appid, order, position, size, database.reads);
    const rows = await Promise.all(
      page.rows.map(async (group) => ({
        ...group,
        versions: await listCrashGroupVersions(appid, group.fingerprint, versionsMax, database.reads),
      })),
    );
    return paging.present(listing, caller, request, { ...page, rows }, presentCrashGroup);
  },
});

const listReports = operation({
  method: "GET",
  path: "/_/api/applications/{appid}/crashes/{fingerprint}/reports",
  operation: "listCrashReports",
  summary: "List the stored reports of one crash, newest first",
  description: "With the stack trace of each.",
  tag: "Operators",
  caller: "operator",
  pathParameters: CrashReportsPath,
  parameters: ListCrashReports,
  status: 200,
  result: CrashReportPage,
  errors: ["ItemDoesNotExist"],
  async handle({ caller, path: { appid, fingerprint }, parameters, call }, { database, paging }) {
    const listing = `crash reports of ${appid} ${fingerprint}`;
    const request = await paging.read(listing, caller, parameters, call);
    await requireApplication(appid, database.reads);
    if (!(await hasCrashGroup(appid, fingerprint, database.reads))) throw new ApiError("ItemDoesNotExist");
    const size = Math.min(request.size, reportsPerPageMax);
    const page = await listCrashReports(appid, fingerprint, request.position, size, database.reads);
    return paging.present(listing, caller, request, page, presentListedCrashReport);
  },
});

/** The crashes of an application for operators, grouped by bug. */
export const crashReportOperatorOperations = [listGroups, listReports];
