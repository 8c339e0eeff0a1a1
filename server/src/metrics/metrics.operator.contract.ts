import { applicationPathParameters } from "../auth/operated-application.ts";
import { PageOf, pagingParameters } from "../contract/paging.ts";
import { enumeration, named, type Static, Type } from "../contract/schema.ts";
import { Choice, DateInput, Text, WireDate } from "../contract/wire.ts";
import { formatDate } from "../lib/dates.ts";
import {
  type ChartRange,
  cellsByContent,
  type Interval as IntervalWord,
  nextInterval,
  type Points,
} from "./engine/charts.ts";
import type { RawEvent } from "./engine/events.ts";
import type { Cell, Groups, ValueStats } from "./engine/rollups.ts";
import type { KeyRow } from "./engine/snapshot.ts";
import { ValueText } from "./metrics.contract.ts";

export const pointsMax = 2_000;

export const MetricsPath = Type.Object(applicationPathParameters);
export const MetricPath = Type.Object({
  ...applicationPathParameters,
  key: Text({ minLength: 1, maxLength: 256, description: "The key that events are reported under." }),
});

/** The number of days with event counts in the list of keys. */
export const daysListed = 30;

const Include = enumeration("MetricInclude", "Additional members of the result.", {
  days: "The number of events on each of the last 30 days.",
});

export const ListMetrics = Type.Object({
  include: Type.Optional(Choice(Include, { description: "Additional members of the result." })),
  keyPrefix: Type.Optional(Text({ maxLength: 256, description: "Only keys that begin with this, case included." })),
  ...pagingParameters,
});

const Metric = named(
  "Metric",
  "A metric key of an application.",
  Type.Object({
    key: Type.String({ description: "The key that events are reported under." }),
    count: Type.Integer({ format: "int64", description: "The number of events, or of values with this name." }),
    lastSeen: { ...WireDate, description: "When the last event arrived." },
    days: Type.Optional({
      ...Type.Array(Type.Integer({ format: "int64" })),
      description: "With `include=days`: the events of each of the last 30 days in UTC; the last one is not over.",
    }),
  }),
);
export const MetricPage = PageOf(Metric);

export function presentMetric(
  { key, eventCount, lastReceivedAt }: KeyRow,
  days: number[] | undefined,
): Static<typeof Metric> {
  return { key, count: eventCount, lastSeen: formatDate(lastReceivedAt), ...(days && { days }) };
}

const range = {
  from: Type.Optional(DateInput({ description: "The first moment of the range." })),
  to: Type.Optional(DateInput({ description: "The first moment after the range." })),
};

const Interval = enumeration<IntervalWord>("MetricInterval", "The length of an interval, in UTC.", {
  hour: "An hour.",
  day: "A day.",
  week: "A week, which begins on Monday.",
  month: "A month.",
});

export const ReadMetric = Type.Object({
  ...range,
  interval: Type.Optional(Choice(Interval, { default: "day", description: "The length of the intervals, in UTC." })),
  value: Type.Optional(Text({ maxLength: 256, description: "The name of the value to be read." })),
  groupBy: Type.Optional(Text({ maxLength: 256, description: "The name of the value by whose content to group." })),
});

export const ListValues = Type.Object(range);

const MetricValue = named(
  "MetricValueName",
  "A value that events of a key have.",
  Type.Object({
    name: Type.String({ description: "The name of the value." }),
    numbers: Type.Integer({ format: "int64", description: "The number of events with a number in it." }),
    texts: Type.Integer({
      format: "int64",
      description: "The number of events with a text or a boolean, which can be grouped by.",
    }),
  }),
);

export const MetricValues = named(
  "MetricValueNames",
  "The values that events of a key have.",
  Type.Object({
    key: Type.String({ description: "The key that events are reported under." }),
    values: { ...Type.Array(MetricValue), description: "The most frequent first, at most 50." },
  }),
);

/** Sums the intervals of each value. */
export function presentValues(
  key: string,
  values: ReadonlyMap<string, ReadonlyMap<number, ValueStats>>,
): Static<typeof MetricValues> {
  const sum = (counts: readonly number[]) => counts.reduce((total, each) => total + each, 0);
  return {
    key,
    values: [...values].map(([name, byInterval]) => {
      const stats = [...byInterval.values()];
      return { name, numbers: sum(stats.map(({ numbers }) => numbers)), texts: sum(stats.map(({ texts }) => texts)) };
    }),
  };
}

const Point = named(
  "MetricPoint",
  "The figures of one interval.",
  Type.Object({
    start: { ...WireDate, description: "The first moment of the interval." },
    count: Type.Integer({ format: "int64", description: "The number of events, or of values with this name." }),
    devices: Type.Optional(Type.Integer({ description: "The number of distinct devices." })),
    users: Type.Optional(Type.Integer({ description: "The number of distinct users." })),
    sum: Type.Optional(Type.Number({ description: "The sum of the numbers." })),
    min: Type.Optional(Type.Number({ description: "The smallest number." })),
    max: Type.Optional(Type.Number({ description: "The largest number." })),
    mean: Type.Optional(Type.Number({ description: "The mean of the numbers." })),
    p50: Type.Optional(Type.Number({ description: "The median of the numbers." })),
    p95: Type.Optional(Type.Number({ description: "95 % of the numbers are at most this." })),
    p99: Type.Optional(Type.Number({ description: "99 % of the numbers are at most this." })),
  }),
);
type Point = Static<typeof Point>;

const Series = named(
  "MetricGroup",
  "The intervals of a metric, or of one group of it.",
  Type.Object({
    value: Type.Optional(Type.String({ description: "The name of the value that the points are about." })),
    group: Type.Optional(Type.String({ description: "The content of the value to group by." })),
    isOther: Type.Optional(Type.Boolean({ description: "True for all that have no group of their own." })),
    points: Type.Array(Point),
  }),
);
export type Series = Static<typeof Series>;

export const MetricSeries = named(
  "MetricSeries",
  "A metric by intervals.",
  Type.Object({
    key: Type.String({ description: "The key that events are reported under." }),
    from: { ...WireDate, description: "The first moment of the first interval." },
    to: { ...WireDate, description: "The first moment after the last interval." },
    interval: Interval,
    series: Type.Array(Series),
  }),
);

/** The events of each interval, including empty intervals. */
export function presentEventPoints(range: ChartRange, cells: Points<Cell>): Point[] {
  return presentPoints(range, (start) => {
    const cell = cells.get(start);
    return { count: cell?.count ?? 0, devices: cell?.devices ?? 0, users: cell?.users ?? 0 };
  });
}

/** The values of one name per interval. */
export function presentValuePoints(range: ChartRange, stats: Points<ValueStats | undefined>): Point[] {
  return presentPoints(range, (start) => {
    const found = stats.get(start);
    return found === undefined ? { count: 0 } : presentStats(found);
  });
}

/** One series per content of the grouping value. */
export function presentGroups(range: ChartRange, groups: Points<Groups>, value: string | undefined): Series[] {
  const { contents, others } = cellsByContent(groups);
  function present(cells: Points<Cell>): Omit<Series, "group"> {
    if (value === undefined) return { points: presentEventPoints(range, cells) };
    const stats = new Map([...cells].map(([start, cell]) => [start, cell.values.get(value)]));
    return { value, points: presentValuePoints(range, stats) };
  }
  const series: Series[] = [...contents].map(([group, cells]) => ({ group, ...present(cells) }));
  return others.size === 0 ? series : [...series, { isOther: true, ...present(others) }];
}

const shares = [0.5, 0.95, 0.99] as const;

function presentStats({ texts, numbers, sum, min, max, sketch }: ValueStats): Omit<Point, "start"> {
  const count = texts + numbers;
  if (numbers === 0) return { count };
  const [p50 = 0, p95 = 0, p99 = 0] = sketch.quantiles(shares).map((each) => Math.min(Math.max(each, min), max));
  const percentiles = { p50, p95, p99 };
  // Omitted when the numbers are too large to sum.
  return { count, ...(Number.isFinite(sum) && { sum, mean: sum / numbers }), min, max, ...percentiles };
}

function presentPoints({ interval, from, to }: ChartRange, present: (start: number) => Omit<Point, "start">): Point[] {
  const points: Point[] = [];
  for (let start = from; start < to; start = nextInterval(interval, start)) {
    points.push({ start: formatDate(start), ...present(start) });
  }
  return points;
}

export const ListEvents = Type.Object({ ...range, ...pagingParameters });

const Event = named(
  "ReportedMetricEvent",
  "An event, as it was reported.",
  Type.Object({
    id: Type.Optional(Type.String({ description: "Of one that was reported separately." })),
    timestamp: { ...WireDate, description: "When it happened." },
    received: { ...WireDate, description: "When it arrived." },
    device: Type.String({ description: "A pseudonym." }),
    user: Type.Optional(Type.String({ description: "A pseudonym." })),
    values: { ...Type.Record(ValueText), description: "Values by name." },
    elapsedTimeInMs: Type.Optional(Type.Integer({ format: "int64", description: "Of one that was ended." })),
  }),
);
export const EventPage = PageOf(Event);

/** @param handle of an individually reported event */
export function presentEvent(
  { occurredAt, receivedAt, device, user, namesAndValues }: RawEvent,
  handle: { readonly id: string; readonly started_at: number; readonly ended_at: number | null } | undefined,
): Static<typeof Event> {
  const pairs: [string, string | number | boolean][] = [];
  for (let at = 0; at < namesAndValues.length; at += 2) {
    pairs.push([String(namesAndValues[at]), namesAndValues[at + 1] ?? ""]);
  }
  return {
    ...(handle !== undefined && { id: handle.id }),
    timestamp: formatDate(occurredAt),
    received: formatDate(receivedAt),
    device,
    ...(user !== null && { user }),
    values: Object.fromEntries(pairs), // also creates members with names like __proto__
    ...(handle !== undefined && handle.ended_at !== null && { elapsedTimeInMs: handle.ended_at - handle.started_at }),
  };
}
