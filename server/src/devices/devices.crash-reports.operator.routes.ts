import { noteChanges } from "../audit/audit.changes.ts";
import { holdApplication, requireApplication } from "../auth/operated-application.ts";
import { Type } from "../contract/schema.ts";
import type { CrashGroupRow } from "../db/tables.ts";
import { ApiError } from "../lib/errors.ts";
import { spans, startOf } from "../lib/spans.ts";
import { operation } from "../operations/operation.ts";
import type { Services } from "../operations/services.ts";
import { listCrashDays, listCrashVersions } from "./devices.crash-days.store.ts";
import {
  findCrashGroup,
  listCrashGroupPlatforms,
  listCrashGroups,
  listCrashGroupVersions,
  updateCrashGroup,
} from "./devices.crash-groups.store.ts";
import {
  ChangeCrashGroup,
  CrashGroup,
  CrashGroupPage,
  CrashGroupPath,
  CrashGroupsPath,
  CrashReportPage,
  CrashStatistics,
  daysShown,
  ListCrashGroups,
  ListCrashReports,
  platformsMax,
  presentCrashGroup,
  presentCrashStatistics,
  presentListedCrashReport,
  ReadCrashStatistics,
  readCrashGroupChange,
  readCrashRange,
  readGroupSearch,
  reportsPerPageMax,
  systemsMax,
  versionsMax,
} from "./devices.crash-reports.operator.contract.ts";
import { listCrashReports } from "./devices.crash-reports.store.ts";

const listGroups = operation({
  method: "GET",
  path: "/_/api/applications/{appid}/crashes",
  operation: "listCrashGroups",
  summary: "List the crashes of an application, one group per bug",
  description: "Reports are grouped by the parts of their stacks that do not change with each build.",
  tag: "Operators",
  caller: "operator",
  pathParameters: CrashGroupsPath,
  parameters: ListCrashGroups,
  status: 200,
  result: CrashGroupPage,
  errors: ["ItemDoesNotExist"],
  async handle({ caller, path: { appid }, parameters, call }, services) {
    const { database, paging } = services;
    const listing = `crashes of ${appid}`;
    const request = await paging.read(listing, caller, parameters, call);
    await requireApplication(appid, database.reads);
    const { position, size, filters } = request;
    const page = await listCrashGroups(appid, readGroupSearch(filters), position, size, database.reads, call.work);
    const rows = await withDetails(appid, page.rows, services);
    return paging.present(listing, caller, request, { ...page, rows }, presentCrashGroup);
  },
});

/** Adds the versions, platforms and days of each group. */
async function withDetails(appid: string, groups: readonly CrashGroupRow[], { database: { reads }, clock }: Services) {
  if (groups.length === 0) return [];
  const to = startOf("day", clock.now()) + spans.day;
  const fingerprints = groups.map(({ fingerprint }) => fingerprint);
  const days = await listCrashDays(appid, fingerprints, { from: to - daysShown * spans.day, to }, reads);
  const daysByGroup = Map.groupBy(days, ({ fingerprint }) => fingerprint);
  return Promise.all(
    groups.map(async (group) => ({
      ...group,
      versions: await listCrashGroupVersions(appid, group.fingerprint, versionsMax, reads),
      platforms: await listCrashGroupPlatforms(appid, group.fingerprint, platformsMax, reads),
      days: daysByGroup.get(group.fingerprint) ?? [],
    })),
  );
}

/** @throws ApiError ItemDoesNotExist */
async function presentFound(appid: string, group: CrashGroupRow | undefined, services: Services) {
  if (group === undefined) throw new ApiError("ItemDoesNotExist");
  const [found] = await withDetails(appid, [group], services);
  if (found === undefined) throw new ApiError("ItemDoesNotExist");
  return presentCrashGroup(found);
}

const getGroup = operation({
  method: "GET",
  path: "/_/api/applications/{appid}/crashes/{fingerprint}",
  operation: "getCrashGroup",
  summary: "Read one crash of an application",
  description: "Returns the crash as in the list.",
  tag: "Operators",
  caller: "operator",
  pathParameters: CrashGroupPath,
  parameters: Type.Object({}),
  status: 200,
  result: CrashGroup,
  errors: ["ItemDoesNotExist"],
  async handle({ path: { appid, fingerprint } }, services) {
    const { reads } = services.database;
    await requireApplication(appid, reads);
    return presentFound(appid, await findCrashGroup(appid, fingerprint, reads), services);
  },
});

const changeGroup = operation({
  method: "PATCH",
  path: "/_/api/applications/{appid}/crashes/{fingerprint}",
  operation: "changeCrashGroup",
  summary: "Resolve, ignore or reopen a crash, or write a note about it",
  description: "A later report that meets its conditions reopens a resolved or ignored crash.",
  tag: "Operators",
  caller: "operator",
  pathParameters: CrashGroupPath,
  parameters: ChangeCrashGroup,
  status: 200,
  result: CrashGroup,
  errors: ["ItemDoesNotExist"],
  async handle({ path: { appid, fingerprint }, parameters, call }, services) {
    const { database, clock } = services;
    const change = readCrashGroupChange(parameters);
    const isEmpty = change.state === undefined && change.note === undefined;
    const group = await database.write(async ({ queries }) => {
      await holdApplication(appid, database.dialect, queries);
      const before = await findCrashGroup(appid, fingerprint, queries);
      if (isEmpty || before === undefined) return before;
      const after = await updateCrashGroup({ application_id: appid, fingerprint }, change, clock.now(), queries);
      noteChanges(call, auditedColumns(before), auditedColumns(after ?? before));
      return after;
    });
    return presentFound(appid, group, services);
  },
});

function auditedColumns({ state, resolved_in }: CrashGroupRow) {
  return { state, resolvedIn: resolved_in };
}

const readStatistics = operation({
  method: "GET",
  path: "/_/api/applications/{appid}/crashes/{fingerprint}/statistics",
  operation: "readCrashStatistics",
  summary: "Read the reports of one crash by day, and by version of app and system",
  description: "Days are in UTC. Counts are stored as long as reports.",
  tag: "Operators",
  caller: "operator",
  pathParameters: CrashGroupPath,
  parameters: ReadCrashStatistics,
  status: 200,
  result: CrashStatistics,
  errors: ["ItemDoesNotExist"],
  async handle({ path: { appid, fingerprint }, parameters }, { database: { reads }, clock }) {
    const range = readCrashRange(parameters, clock.now());
    await requireApplication(appid, reads);
    if ((await findCrashGroup(appid, fingerprint, reads)) === undefined) throw new ApiError("ItemDoesNotExist");
    const days = await listCrashDays(appid, [fingerprint], range, reads);
    const versions = await listCrashVersions(appid, fingerprint, range, systemsMax, reads);
    return presentCrashStatistics(range, days, versions);
  },
});

const listReports = operation({
  method: "GET",
  path: "/_/api/applications/{appid}/crashes/{fingerprint}/reports",
  operation: "listCrashReports",
  summary: "List the stored reports of one crash, newest first",
  description: "Returns each with its stack trace.",
  tag: "Operators",
  caller: "operator",
  pathParameters: CrashGroupPath,
  parameters: ListCrashReports,
  status: 200,
  result: CrashReportPage,
  errors: ["ItemDoesNotExist"],
  async handle({ caller, path: { appid, fingerprint }, parameters, call }, { database, paging }) {
    const listing = `crash reports of ${appid} ${fingerprint}`;
    const request = await paging.read(listing, caller, parameters, call);
    await requireApplication(appid, database.reads);
    if ((await findCrashGroup(appid, fingerprint, database.reads)) === undefined)
      throw new ApiError("ItemDoesNotExist");
    const size = Math.min(request.size, reportsPerPageMax);
    const page = await listCrashReports(appid, fingerprint, request.position, size, database.reads);
    return paging.present(listing, caller, request, page, presentListedCrashReport);
  },
});

/** The crashes of an application for operators, grouped by bug. */
export const crashReportOperatorOperations = [listGroups, getGroup, changeGroup, readStatistics, listReports];
