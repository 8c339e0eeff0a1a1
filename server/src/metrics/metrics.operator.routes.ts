import { requireApplication } from "../auth/operated-application.ts";
import type { Queries } from "../db/database.ts";
import { readPage } from "../db/search/page.ts";
import { earliestMs, formatDate, latestMs } from "../lib/dates.ts";
import { ApiError } from "../lib/errors.ts";
import { spans, startOf } from "../lib/spans.ts";
import { operation } from "../operations/operation.ts";
import type { Services } from "../operations/services.ts";
import {
  type ChartRange,
  type Interval,
  intervalStart,
  nextInterval,
  readEventCells,
  readEventGroups,
  valuesByName,
} from "./engine/charts.ts";
import { eventsStream } from "./engine/events.ts";
import { listHandles } from "./engine/inbox.store.ts";
import { isKnownKey, keysStream } from "./engine/keys.ts";
import { readCount } from "./engine/rollups.ts";
import { rollupSuffix, seriesOf, seriesOfRollup, startOfRollup } from "./engine/row-ids.ts";
import { readRollupCounts, readWaiting } from "./engine/snapshot.ts";
import {
  daysListed,
  EventPage,
  ListEvents,
  ListMetrics,
  ListValues,
  MetricPage,
  MetricPath,
  MetricSeries,
  MetricsPath,
  MetricValues,
  pointsMax,
  presentEvent,
  presentEventPoints,
  presentGroups,
  presentMetric,
  presentValuePoints,
  presentValues,
  ReadMetric,
  type Series,
} from "./metrics.operator.contract.ts";

const listMetrics = operation({
  method: "GET",
  path: "/_/api/applications/{appid}/metrics",
  operation: "listMetrics",
  summary: "List the metric keys of an application",
  description: "Each with the number of its events, and on request with those of each day.",
  tag: "Operators",
  caller: "operator",
  pathParameters: MetricsPath,
  parameters: ListMetrics,
  status: 200,
  result: MetricPage,
  errors: ["ItemDoesNotExist"],
  async handle({ caller, path: { appid }, parameters, call }, { paging, clock, database: { reads } }) {
    await requireApplication(appid, reads);
    const listing = `metrics of ${appid}`;
    const request = await paging.read(listing, caller, parameters, call);
    const { keyPrefix = "", include } = request.filters;
    const page = await readPage(keysStream(appid, keyPrefix, reads), request.position, request.size, call.work);
    const keys = include === "days" ? page.rows.map(({ key }) => key) : [];
    const counts = await readDailyCounts(appid, keys, { days: daysListed, now: clock.now() }, reads);
    return paging.present(listing, caller, request, page, (row) => presentMetric(row, counts.get(row.key)));
  },
});

const readMetric = operation({
  method: "GET",
  path: "/_/api/applications/{appid}/metrics/{key}",
  operation: "readMetric",
  summary: "Read a metric by hour, day, week or month: counts and values",
  description: "One series, or one for each content of the value to group by.",
  tag: "Operators",
  caller: "operator",
  pathParameters: MetricPath,
  parameters: ReadMetric,
  status: 200,
  result: MetricSeries,
  errors: ["ItemDoesNotExist"],
  async handle({ path: { appid, key }, parameters }, services) {
    await requireApplication(appid, services.database.reads);
    const range = readRange(parameters, services.clock.now());
    const series = await readSeries(appid, key, range, parameters, services);
    return { key, interval: range.interval, from: formatDate(range.from), to: formatDate(range.to), series };
  },
});

async function readSeries(
  appid: string,
  key: string,
  range: ChartRange,
  { value, groupBy }: { readonly value?: string; readonly groupBy?: string },
  { database: { reads } }: Services,
): Promise<Series[]> {
  if (groupBy !== undefined) {
    const groups = await readEventGroups(appid, key, groupBy, range, reads);
    if (groups === undefined) throw new ApiError("ItemDoesNotExist");
    return presentGroups(range, groups, value);
  }
  const cells = await readEventCells(appid, key, range, reads);
  if (cells === undefined) throw new ApiError("ItemDoesNotExist");
  const values = valuesByName(cells);
  if (value !== undefined) {
    return [{ value, points: presentValuePoints(range, values.get(value) ?? new Map()) }];
  }
  return [
    { points: presentEventPoints(range, cells) },
    ...[...values].map(([name, stats]) => ({ value: name, points: presentValuePoints(range, stats) })),
  ];
}

const listValues = operation({
  method: "GET",
  path: "/_/api/applications/{appid}/metrics/{key}/values",
  operation: "listMetricValues",
  summary: "List the names of the values that events of a key have",
  description: "Of the last 30 days without a range. Texts and booleans can be grouped by.",
  tag: "Operators",
  caller: "operator",
  pathParameters: MetricPath,
  parameters: ListValues,
  status: 200,
  result: MetricValues,
  errors: ["ItemDoesNotExist"],
  async handle({ path: { appid, key }, parameters }, { clock, database: { reads } }) {
    await requireApplication(appid, reads);
    const cells = await readEventCells(appid, key, readRange(parameters, clock.now()), reads);
    if (cells === undefined) throw new ApiError("ItemDoesNotExist");
    return presentValues(key, valuesByName(cells));
  },
});

const listEvents = operation({
  method: "GET",
  path: "/_/api/applications/{appid}/metrics/{key}/events",
  operation: "listMetricEvents",
  summary: "List the events of a key as they were reported, the latest first",
  description: "Devices and users are salted hashes.",
  tag: "Operators",
  caller: "operator",
  role: "editor",
  pathParameters: MetricPath,
  parameters: ListEvents,
  status: 200,
  result: EventPage,
  errors: ["ItemDoesNotExist"],
  async handle({ caller, path: { appid, key }, parameters, call }, { paging, database: { reads } }) {
    await requireApplication(appid, reads);
    const listing = JSON.stringify(["metric events", appid, key]);
    const request = await paging.read(listing, caller, parameters, call);
    const { from = earliestMs, to = Number.POSITIVE_INFINITY } = request.filters;
    if (!(await isKnownKey(appid, key, reads))) throw new ApiError("ItemDoesNotExist");
    const stream = eventsStream(appid, key, { from, to: Math.min(to, latestMs + 1) }, reads);
    const page = await readPage(stream, request.position, request.size, call.work);
    const alone = page.rows.filter(({ index }) => index === 0).map(({ rowId }) => rowId);
    const handles = new Map((await listHandles(appid, alone, reads)).map((handle) => [handle.id, handle]));
    return paging.present(listing, caller, request, page, (event) => presentEvent(event, handles.get(event.rowId)));
  },
});

/** @throws ApiError ParameterOutOfRange */
function readRange(
  parameters: { readonly from?: number; readonly to?: number; readonly interval?: Interval },
  now: number,
): ChartRange {
  const { interval = "day", to = now } = parameters;
  const { from = to - (interval === "hour" ? spans.day : 30 * spans.day) } = parameters;
  if (from > to) throw new ApiError("ParameterOutOfRange", "to must not be before from.", { parameter: "to" });
  const start = intervalStart(interval, Math.max(from, earliestMs));
  let [end, count] = [start, 0];
  while (end < to || count === 0) {
    end = nextInterval(interval, end);
    count += 1;
    if (count > pointsMax) {
      throw new ApiError("ParameterOutOfRange", `from and to must not be more than ${pointsMax} intervals apart.`);
    }
  }
  return { interval, from: start, to: end };
}

/** Operators read the events of an application (spec/metrics#series). */
export const metricOperatorOperations = [listMetrics, readMetric, listValues, listEvents];

/**
 * Counts the events of several keys on each of the last days, in UTC, from roll-ups and the inbox, without raw events.
 *
 * @returns by key, from the earliest day to today
 */
export async function readDailyCounts(
  applicationId: string,
  keys: readonly string[],
  { days, now }: { readonly days: number; readonly now: number },
  queries: Queries,
): Promise<ReadonlyMap<string, number[]>> {
  if (keys.length === 0) return new Map();
  const first = startOf("day", now) - (days - 1) * spans.day;
  const range = { from: rollupSuffix("day", first), to: rollupSuffix("day", first + days * spans.day), count: days };
  const bySeries = new Map(keys.map((key) => [seriesOf(key), key]));
  const { rollups, waiting } = await readRollupCounts(applicationId, [...bySeries.keys()], range, queries);
  const counts = new Map(keys.map((key) => [key, Array<number>(days).fill(0)]));
  function add(key: string, start: number, count: number): void {
    const ofKey = counts.get(key);
    const day = (start - first) / spans.day;
    if (ofKey?.[day] !== undefined) ofKey[day] += count;
  }
  for (const { id, data } of rollups) add(bySeries.get(seriesOfRollup(id)) ?? "", startOfRollup(id), readCount(data));
  for (const [key, starts] of await readWaiting(waiting).counts(keys, "day"))
    for (const [start, count] of starts) add(key, start, count);
  return counts;
}
