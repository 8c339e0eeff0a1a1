import type { Static } from "../contract/schema.ts";
import type { Queries } from "../db/database.ts";
import { formatDate } from "../lib/dates.ts";
import { ApiError } from "../lib/errors.ts";
import { type Interval, type Range, readRange, spans, startOf } from "../lib/spans.ts";
import { createYield } from "../lib/yield.ts";
import type { ApplicationStatistics, DaySums, ReadStatistics, Series } from "./statistics.contract.ts";
import { listStatistics } from "./statistics.store.ts";
import type { CountedKind } from "./statistics.totals.ts";
import { type KeyTally, Tally } from "./tally.ts";

type Numbers = Readonly<Record<string, number | undefined>>;

/** The available series, each with the function that reads its numbers from an interval. */
const series: Readonly<Record<string, (tally: Tally) => Numbers>> = {
  calls: ({ byClass: [succeeded, redirected, refused, failed] }) => ({
    "calls.2xx": succeeded,
    "calls.3xx": redirected,
    "calls.4xx": refused,
    "calls.5xx": failed,
  }),
  latency(tally) {
    const [p50, p95, p99] = tally.latency()?.quantiles([0.5, 0.95, 0.99]) ?? [];
    return { "latency.p50": rounded(p50), "latency.p95": rounded(p95), "latency.p99": rounded(p99) };
  },
  rateLimited: ({ rateLimited }) => ({ rateLimited }),
  registrations: (tally) => ({ registrations: succeeded(tally, "registerDevice") }),
  activeDevices: ({ devices }) => ({ activeDevices: devices.count() }),
  newDevices: ({ newDevices }) => ({ newDevices }),
  newUsers: ({ newUsers }) => ({ newUsers }),
  signUps: (tally) => ({ signUps: succeeded(tally, "createUser") }),
  logins: (tally) => ({ logins: succeeded(tally, "loginUser") + succeeded(tally, "loginSocialUser") }),
  failedLogins: ({ failedLogins }) => ({ failedLogins }),
  checkins: (tally) => ({ checkins: succeeded(tally, "createCheckin") }),
  files: ({ files }) => ({ files }),
  bytes: ({ bytes }) => ({ bytes }),
  signatures({ keyTotal: { calls, signed } }) {
    return { "signatures.signed": signed, "signatures.unsigned": calls - signed };
  },
};
/** Returned as lists for the complete range instead. */
const lists = ["operations", "errors", "keys", "origins", "peaks"] as const;

/** The number of keys whose registrations are returned per interval. */
const keysOverTimeMax = 20;

const operationsMax = 100;
const errorsMax = 50;

/**
 * Reads the statistics of an application.
 *
 * @param applicationId empty for all applications together
 * @throws ApiError ParameterOutOfRange
 */
export async function readStatistics(
  applicationId: string,
  parameters: Static<typeof ReadStatistics>,
  now: number,
  queries: Queries,
): Promise<Static<typeof ApplicationStatistics>> {
  const { interval = "minute" } = parameters;
  const names = readNames(parameters.series);
  const range = readRange(interval, parameters, now);
  const tallies = await sumIntervals(applicationId, interval, range, queries);
  const total = new Tally();
  if (lists.some((name) => names.has(name))) for (const tally of tallies.values()) total.merge(tally);
  return {
    interval,
    from: formatDate(range.from),
    to: formatDate(range.to),
    series: [...names].flatMap((name) => presentSeries(series[name], tallies, range, spans[interval])),
    ...(names.has("operations") && { operations: presentOperations(total) }),
    ...(names.has("errors") && { errors: presentErrors(total) }),
    ...(names.has("keys") && { keys: presentKeys(total, tallies, range, spans[interval]) }),
    ...(names.has("origins") && { origins: presentOrigins(total) }),
    ...(names.has("peaks") && { peaks: presentPeaks(total) }),
  };
}

function readNames(given: string | undefined): ReadonlySet<string> {
  const known = new Set([...Object.keys(series), ...lists]);
  const names = new Set(given?.split(",").map((name) => name.trim()) ?? known);
  if (names.isSubsetOf(known)) return names;
  throw new ApiError("ParameterOutOfRange", `series must name some of ${[...known].join(", ")}.`, {
    parameter: "series",
  });
}

/** Sums the calls of an application since midnight, UTC, and until the same time of the same weekday a week before. */
export async function readToday(
  applicationId: string,
  now: number,
  queries: Queries,
): Promise<{ readonly today: Static<typeof DaySums>; readonly weekBefore: Static<typeof DaySums> }> {
  const today = { from: startOf("day", now), to: startOf("hour", now) + spans.hour };
  const weekBefore = { from: today.from - 7 * spans.day, to: today.to - 7 * spans.day };
  return {
    today: await sumUp(applicationId, today, queries),
    weekBefore: await sumUp(applicationId, weekBefore, queries),
  };
}

/** Counts the objects that clients have created since the hour that starts at a time. */
export async function readAdded(
  applicationId: string,
  since: number,
  now: number,
  queries: Queries,
): Promise<Record<CountedKind, number>> {
  const { newDevices, newUsers, checkins } = await sumUp(applicationId, { from: since, to: now + 1 }, queries);
  return { devices: newDevices, users: newUsers, checkins };
}

/** Reads the series of the equally long range before a range. */
export async function readBefore(
  applicationId: string,
  { interval, from, to }: { readonly interval: Interval; readonly from: number; readonly to: number },
  queries: Queries,
): Promise<Series[]> {
  const range = { from: from - (to - from), to: from };
  const tallies = await sumIntervals(applicationId, interval, range, queries);
  return Object.values(series).flatMap((read) => presentSeries(read, tallies, range, spans[interval]));
}

async function sumUp(applicationId: string, range: Range, queries: Queries): Promise<Static<typeof DaySums>> {
  const tally = new Tally();
  for (const each of (await sumIntervals(applicationId, "hour", range, queries)).values()) tally.merge(each);
  return {
    calls: tally.calls,
    errors: tally.failed,
    registrations: succeeded(tally, "registerDevice"),
    activeDevices: tally.devices.count(),
    newDevices: tally.newDevices,
    newUsers: tally.newUsers,
    signUps: succeeded(tally, "createUser"),
    checkins: succeeded(tally, "createCheckin"),
    files: tally.files,
    bytes: tally.bytes,
  };
}

/** Returns the intervals that have calls, by start. */
async function sumIntervals(
  applicationId: string,
  interval: Interval,
  range: Range,
  queries: Queries,
): Promise<ReadonlyMap<number, Tally>> {
  const tallies = new Map<number, Tally>();
  const yieldToOthers = createYield();
  for (const { starts_at, data } of await listStatistics(applicationId, interval, range, queries)) {
    const start = startOf(interval, starts_at);
    const tally = tallies.get(start);
    if (tally === undefined) tallies.set(start, Tally.read(data));
    else tally.merge(Tally.read(data));
    await yieldToOthers();
  }
  return tallies;
}

/** Reads the activity of clients with each key in the last 24 hours. */
export async function readKeys(
  applicationId: string,
  now: number,
  queries: Queries,
): Promise<ReadonlyMap<string, KeyTally>> {
  const range = { from: startOf("hour", now) - spans.day + spans.hour, to: now + 1 };
  const total = new Tally();
  for (const tally of (await sumIntervals(applicationId, "hour", range, queries)).values()) total.merge(tally);
  return total.keys;
}

function presentSeries(
  read: ((tally: Tally) => Numbers) | undefined,
  tallies: ReadonlyMap<number, Tally>,
  { from, to }: Range,
  span: number,
): Series[] {
  if (read === undefined) return [];
  const nothing = read(new Tally());
  const found: Series[] = Object.keys(nothing).map((each) => ({ name: each, points: [] }));
  for (let start = from; start < to; start += span) {
    const tally = tallies.get(start);
    const numbers = tally === undefined ? nothing : read(tally);
    const time = formatDate(start);
    for (const each of found) {
      const value = numbers[each.name];
      if (value !== undefined) each.points.push({ time, value });
    }
  }
  return found;
}

/** Presents the keys with the most registrations first. The keys of a deployment are counted as one. */
function presentKeys(
  { keys }: Tally,
  tallies: ReadonlyMap<number, Tally>,
  range: Range,
  span: number,
): NonNullable<Static<typeof ApplicationStatistics>["keys"]> {
  const named = [...keys].filter(([keyId]) => keyId !== "");
  named.sort(([, a], [, b]) => b.registrations - a.registrations || b.calls - a.calls);
  return named.map(([keyId, { calls, signed, registrations }], index) => {
    const read = (tally: Tally) => ({ registrations: tally.keys.get(keyId)?.registrations ?? 0 });
    const [overTime] = index < keysOverTimeMax ? presentSeries(read, tallies, range, span) : [];
    return { keyId, calls, signedCalls: signed, registrations, ...(overTime && { points: overTime.points }) };
  });
}

function presentOrigins({ origins }: Tally): NonNullable<Static<typeof ApplicationStatistics>["origins"]> {
  return [...origins].sort(([, a], [, b]) => b - a).map(([origin, calls]) => ({ origin, calls }));
}

function presentPeaks({ peaks }: Tally): NonNullable<Static<typeof ApplicationStatistics>["peaks"]> {
  return [...peaks].sort(([, a], [, b]) => b - a).map(([limit, calls]) => ({ limit, calls }));
}

function presentOperations({ operations }: Tally): NonNullable<Static<typeof ApplicationStatistics>["operations"]> {
  const busiest = [...operations].sort(([, a], [, b]) => b.calls - a.calls).slice(0, operationsMax);
  return busiest.map(([operation, { calls, errors, latency }]) => {
    const p95 = rounded(latency?.quantiles([0.95])[0]);
    return { operation, calls, errors, ...(p95 !== undefined && { p95 }) };
  });
}

function presentErrors({ errors, otherErrors }: Tally): NonNullable<Static<typeof ApplicationStatistics>["errors"]> {
  const rest = errors.slice(errorsMax).reduce((total, { count }) => total + count, otherErrors);
  return [...errors.slice(0, errorsMax), ...(rest > 0 ? [{ count: rest, isOther: true }] : [])];
}

function succeeded({ operations }: Tally, operation: string): number {
  const { calls = 0, errors = 0 } = operations.get(operation) ?? {};
  return calls - errors;
}

/** Rounds milliseconds to three decimals. */
function rounded(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.round(ms * 1_000) / 1_000;
}
