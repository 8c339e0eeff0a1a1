import { type RangeName, type RangeSearch, resolveRange } from "../lib/time-range.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** The intervals of metrics, with their usual length. */
export const metricIntervals = [
  { name: "hour", label: "By hour", ms: hourMs },
  { name: "day", label: "By day", ms: dayMs },
  { name: "week", label: "By week", ms: 7 * dayMs },
  { name: "month", label: "By month", ms: 30 * dayMs },
] as const;

export type MetricInterval = (typeof metricIntervals)[number]["name"];

export interface MetricRange {
  readonly from: number;
  /** Not in the range. */
  readonly to: number;
  readonly interval: MetricInterval;
  readonly intervalMs: number;
}

export const defaultRange: RangeName = "30d";
/** Intervals that a chart can show. */
const intervalsMax = 800;
/** By hour up to this length, unless the address names the interval. */
const hoursMs = 4 * dayMs;

/** The range of an address, with an interval that fits it. */
export function metricRange(search: RangeSearch & { readonly interval?: string }, now: number): MetricRange {
  const { from, to } = resolveRange(search, defaultRange, now);
  const [first, end] = [Math.floor(from / hourMs) * hourMs, Math.ceil(to / hourMs) * hourMs];
  const fitting = fittingIntervals(end - first);
  const usual = end - first <= hoursMs ? "hour" : "day";
  const chosen =
    fitting.find(({ name }) => name === search.interval) ??
    fitting.find(({ name }) => name === usual) ??
    fitting[0] ??
    metricIntervals[3];
  return { from: first, to: end, interval: chosen.name, intervalMs: chosen.ms };
}

/** The intervals of which a range has some, and not too many. */
export function fittingIntervals(length: number) {
  return metricIntervals.filter(({ ms }, index) => (index === 0 || ms <= length) && length / ms <= intervalsMax);
}
