import { requireApplication } from "../auth/operated-application.ts";
import { operation } from "../operations/operation.ts";
import {
  ApplicationOverview,
  ApplicationStatistics,
  DeploymentStatistics,
  ReadOverview,
  ReadStatistics,
  StatisticsPath,
} from "./statistics.contract.ts";
import { readOverview } from "./statistics.overview.ts";
import { readStatistics } from "./statistics.reading.ts";
import { listBusiest } from "./statistics.store.ts";

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

/** The activity of clients, for operators (spec/statistics). */
export const statisticsOperations = [readApplicationStatistics, readApplicationOverview, readDeploymentStatistics];
