import { requireApplication } from "../auth/operated-application.ts";
import type { Static } from "../contract/schema.ts";
import type { Queries } from "../db/database.ts";
import { formatDate } from "../lib/dates.ts";
import { readRange } from "../lib/spans.ts";
import { operation } from "../operations/operation.ts";
import {
  ApplicationOverview,
  ApplicationStatistics,
  DeploymentStatistics,
  ReadOverview,
  ReadStatistics,
  StatisticsPath,
} from "./statistics.contract.ts";
import { listMarkers, listNewCrashes, type MarkerRow } from "./statistics.events.store.ts";
import { readAdded, readBefore, readStatistics, readToday } from "./statistics.reading.ts";
import { listBusiest } from "./statistics.store.ts";
import { findTotals } from "./statistics.totals.ts";
import { listNewVersions, type VersionReports } from "./statistics.versions.ts";

const markersMax = 50;
const versionsMax = 10;

/**
 * Reads the overview of an application.
 *
 * @throws ApiError ParameterOutOfRange
 */
async function readOverview(
  applicationId: string,
  parameters: Static<typeof ReadOverview>,
  now: number,
  queries: Queries,
): Promise<Static<typeof ApplicationOverview>> {
  const { interval = "minute", compare = false } = parameters;
  const range = readRange(interval, parameters, now);
  return {
    totals: await findTotals(applicationId, (since) => readAdded(applicationId, since, now, queries), queries),
    ...(await readToday(applicationId, now, queries)),
    statistics: await readStatistics(applicationId, parameters, now, queries),
    ...(compare && { before: await readBefore(applicationId, { interval, ...range }, queries) }),
    markers: presentMarkers(await listMarkers(applicationId, range, queries)),
    newVersions: presentVersions(await listNewVersions(applicationId, range, versionsMax, queries)),
    newCrashes: (await listNewCrashes(applicationId, range, queries)).map(
      ({ fingerprint, title, reports, first_seen_at }) => ({
        fingerprint,
        title,
        reports: Number(reports),
        firstSeen: formatDate(first_seen_at),
      }),
    ),
  };
}

function presentMarkers(rows: readonly MarkerRow[]): Static<typeof ApplicationOverview>["markers"] {
  return rows
    .filter(({ details }) => JSON.parse(details).error === undefined)
    .sort((a, b) => b.at - a.at)
    .slice(0, markersMax)
    .map(({ at, action, actor_name }) => ({
      at: formatDate(at),
      action,
      ...(actor_name !== "" && { by: actor_name }),
    }));
}

function presentVersions(
  rows: readonly Omit<VersionReports, "application_id">[],
): Static<typeof ApplicationOverview>["newVersions"] {
  return rows
    .toSorted((a, b) => b.first_seen_at - a.first_seen_at)
    .map(({ app_version, first_seen_at, reports, platforms }) => ({
      appVersion: app_version,
      firstSeen: formatDate(first_seen_at),
      reports,
      platforms: platforms.toSorted(),
    }));
}

const readApplicationStatistics = operation({
  method: "GET",
  path: "/_/api/applications/{appid}/statistics",
  operation: "readApplicationStatistics",
  summary: "Read the activity of an application's clients, by minute, hour or day",
  description: "Calls, latency, errors, registrations, log-ins and more. Processes write their counts once a minute.",
  tag: "Operators",
  caller: "operator",
  pathParameters: StatisticsPath,
  parameters: ReadStatistics,
  status: 200,
  result: ApplicationStatistics,
  errors: ["ItemDoesNotExist"],
  async handle({ path: { appid }, parameters }, { clock, database: { reads } }) {
    await requireApplication(appid, reads);
    return readStatistics(appid, parameters, clock.now(), reads);
  },
});

const readApplicationOverview = operation({
  method: "GET",
  path: "/_/api/applications/{appid}/overview",
  operation: "readApplicationOverview",
  summary: "Read the totals and the activity of an application, in one answer",
  description:
    "Totals, today compared with the same weekday before, all statistics of a range, changes and new crashes in it.",
  tag: "Operators",
  caller: "operator",
  pathParameters: StatisticsPath,
  parameters: ReadOverview,
  status: 200,
  result: ApplicationOverview,
  errors: ["ItemDoesNotExist"],
  async handle({ path: { appid }, parameters }, { clock, database: { reads } }) {
    await requireApplication(appid, reads);
    return readOverview(appid, parameters, clock.now(), reads);
  },
});

const readDeploymentStatistics = operation({
  method: "GET",
  path: "/_/api/statistics",
  operation: "readDeploymentStatistics",
  summary: "Read the activity of all clients and operators, and the busiest applications",
  description: "The same series as of one application, over all calls, with those that belong to no application.",
  tag: "Operators",
  caller: "operator",
  parameters: ReadStatistics,
  status: 200,
  result: DeploymentStatistics,
  errors: [],
  async handle({ parameters }, { clock, database: { reads } }) {
    const now = clock.now();
    const [all, busiest] = await Promise.all([readStatistics("", parameters, now, reads), listBusiest(now, reads)]);
    return { ...all, busiest: busiest.map(({ application_id: appid, calls, errors }) => ({ appid, calls, errors })) };
  },
});

/** Operators read the activity of clients (spec/statistics). */
export const statisticsOperations = [readApplicationStatistics, readApplicationOverview, readDeploymentStatistics];
