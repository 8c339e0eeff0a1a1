import type { Queries } from "../../db/database.ts";
import { spans, startOf } from "../../lib/spans.ts";
import { createYield } from "../../lib/yield.ts";
import { Cell, dimensionOf, Groups, readAll, readGroups, type ValueStats } from "./rollups.ts";
import { type Granularity, rollupId, seriesOf, startOfRollup } from "./row-ids.ts";
import { readRollups, readWaiting } from "./snapshot.ts";

export interface ChartRange {
  readonly interval: Interval;
  /** The start of the first interval. */
  readonly from: number;
  /** The end of the last interval, exclusive. */
  readonly to: number;
}

/** By start of interval; intervals without events have no entry. */
export type Points<T> = ReadonlyMap<number, T>;

/**
 * Counts the events of a key per interval.
 *
 * @returns undefined when no event is stored under this key
 */
export function readEventCells(
  applicationId: string,
  key: string,
  range: ChartRange,
  queries: Queries,
): Promise<Points<Cell> | undefined> {
  return readPoints(applicationId, key, undefined, range, queries, {
    create: () => new Cell("all"),
    read: readAll,
    ofBucket: ({ all }) => all,
  });
}

/** Returns the events of a key per interval, grouped by the contents of one value. */
export function readEventGroups(
  applicationId: string,
  key: string,
  valueName: string,
  range: ChartRange,
  queries: Queries,
): Promise<Points<Groups> | undefined> {
  return readPoints(applicationId, key, valueName, range, queries, {
    create: () => new Groups(),
    read: readGroups,
    ofBucket: ({ dimensions }) => dimensions.get(valueName),
  });
}

interface RollupKind<T> {
  create(): T;
  read(data: Uint8Array): T;
  ofBucket(bucket: { readonly all: Cell; readonly dimensions: ReadonlyMap<string, Groups> }): T | undefined;
}

async function readPoints<T extends { merge(other: T): void }>(
  applicationId: string,
  key: string,
  groupBy: string | undefined,
  { interval, from, to }: ChartRange,
  queries: Queries,
  kind: RollupKind<T>,
): Promise<Points<T> | undefined> {
  const granularity = granularityOf(interval);
  const seriesId = seriesOf(key);
  const dimension = groupBy === undefined ? "" : dimensionOf(groupBy);
  const idAt = (start: number) => rollupId(seriesId, granularity, start, dimension);
  const snapshot = await readRollups(applicationId, key, { from: idAt(from), to: idAt(to) }, queries);
  const waiting = await readWaiting(snapshot.waiting).buckets({ key, groupBy, from, to }, granularity);
  if (!snapshot.isKnown && !waiting.isAny) return undefined;

  const points = new Map<number, T>();
  function add(bucketStart: number, rollup: T | undefined): void {
    if (rollup === undefined || bucketStart < from || bucketStart >= to) return;
    const start = intervalStart(interval, bucketStart);
    let point = points.get(start);
    if (point === undefined) {
      point = kind.create();
      points.set(start, point);
    }
    point.merge(rollup);
  }
  const yieldToOthers = createYield();
  for (const { id, data } of snapshot.rollups) {
    add(startOfRollup(id), kind.read(data));
    await yieldToOthers();
  }
  for (const [start, bucket] of waiting.found) add(start, kind.ofBucket(bucket));
  return points;
}

const seriesMax = 50;

/** Returns the values of each name per interval, the most frequent names first. */
export function valuesByName(points: Points<Cell>): Map<string, Map<number, ValueStats>> {
  const byName = new Map<string, Map<number, ValueStats>>();
  for (const [start, cell] of points) {
    for (const [name, stats] of cell.values) {
      const series = byName.get(name) ?? new Map<number, ValueStats>();
      series.set(start, stats);
      byName.set(name, series);
    }
  }
  const total = (series: Map<number, ValueStats>) => sum(series.values(), ({ texts, numbers }) => texts + numbers);
  return largest(byName, total);
}

/** Returns the events of each content per interval, the largest groups first, then the sum of all others. */
export function cellsByContent(points: Points<Groups>): {
  contents: Map<string, Map<number, Cell>>;
  others: Map<number, Cell>;
} {
  const byContent = new Map<string, Map<number, Cell>>();
  const others = new Map<number, Cell>();
  for (const [start, groups] of points) {
    for (const [content, cell] of groups.entries()) {
      const series = byContent.get(content) ?? new Map<number, Cell>();
      series.set(start, cell);
      byContent.set(content, series);
    }
    if (groups.rest !== undefined) others.set(start, groups.rest);
  }
  const contents = largest(byContent, (series) => sum(series.values(), ({ count }) => count));
  for (const [content, series] of byContent) {
    if (contents.has(content)) continue;
    for (const [start, cell] of series) {
      const other = others.get(start) ?? new Cell("group");
      other.merge(cell);
      others.set(start, other);
    }
  }
  return { contents, others };
}

function largest<T>(all: ReadonlyMap<string, T>, size: (each: T) => number): Map<string, T> {
  const sized = [...all].map(([name, each]) => ({ name, each, size: size(each) }));
  sized.sort((a, b) => b.size - a.size || (a.name < b.name ? -1 : 1));
  return new Map(sized.slice(0, seriesMax).map(({ name, each }) => [name, each]));
}

function sum<T>(all: Iterable<T>, of: (each: T) => number): number {
  let total = 0;
  for (const each of all) total += of(each);
  return total;
}

/** The interval between two points of a chart, in UTC. Weeks start on Monday. */
export type Interval = "hour" | "day" | "week" | "month";

/** Returns the bucket size that makes up an interval. */
function granularityOf(interval: Interval): Granularity {
  return interval === "hour" ? "hour" : "day";
}

/** 1970-01-05, a Monday. */
const mondayMs = 4 * spans.day;

/** Returns the start of the interval that contains a time. */
export function intervalStart(interval: Interval, at: number): number {
  switch (interval) {
    case "hour":
    case "day":
      return startOf(interval, at);
    case "week":
      return Math.floor((at - mondayMs) / (7 * spans.day)) * 7 * spans.day + mondayMs;
    case "month":
      return startOfMonth(at, 0);
  }
}

/** Returns the start of the next interval. */
export function nextInterval(interval: Interval, start: number): number {
  switch (interval) {
    case "hour":
    case "day":
      return start + spans[interval];
    case "week":
      return start + 7 * spans.day;
    case "month":
      return startOfMonth(start, 1);
  }
}

function startOfMonth(at: number, monthsLater: number): number {
  const date = new Date(at);
  // Date.UTC maps the years 0 to 99 to 1900 to 1999.
  return new Date(0).setUTCFullYear(date.getUTCFullYear(), date.getUTCMonth() + monthsLater, 1);
}
