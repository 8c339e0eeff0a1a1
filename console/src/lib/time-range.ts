/** The search parameters of a page with a time range; without any, the page has its default. */
export interface RangeSearch {
  /** The name of a range up to now, such as "24h". */
  readonly range?: string;
  /** A range that stays where it is, in ISO 8601. */
  readonly from?: string;
  readonly to?: string;
}

/** A range of complete intervals. */
export interface TimeRange {
  readonly from: number;
  /** Not in the range. */
  readonly to: number;
  readonly interval: keyof typeof intervals;
}

/** The intervals of statistics, in milliseconds. */
export const intervals = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const;

/** The ranges up to now. */
export const namedRanges = [
  { name: "15m", label: "15 minutes", length: 15 * intervals.minute },
  { name: "1h", label: "1 hour", length: intervals.hour },
  { name: "24h", label: "24 hours", length: intervals.day },
  { name: "7d", label: "7 days", length: 7 * intervals.day },
  { name: "30d", label: "30 days", length: 30 * intervals.day },
  { name: "90d", label: "90 days", length: 90 * intervals.day },
] as const;

export type RangeName = (typeof namedRanges)[number]["name"];

/** How long the server stores an interval, and the longest range that uses it. */
const bounds = [
  { interval: "minute", keptMs: 2 * intervals.day, longestMs: 6 * intervals.hour },
  { interval: "hour", keptMs: 90 * intervals.day, longestMs: 14 * intervals.day },
] as const;

/** The range of an address, in complete intervals: the current minute is excluded. */
export function resolveRange(search: RangeSearch, fallback: RangeName, now: number): TimeRange {
  const fixed = fixedRangeOf(search);
  if (fixed !== undefined) return wholeIntervals(fixed.from, fixed.to, intervalFor(fixed.from, fixed.to, now));
  const named = namedRanges.find(({ name }) => name === search.range) ?? namedRanges.find((r) => r.name === fallback);
  const length = named?.length ?? intervals.day;
  const interval = intervalFor(now - length, now, now);
  const span = intervals[interval];
  const to = interval === "minute" ? Math.floor(now / span) * span : Math.ceil(now / span) * span;
  return { from: to - length, to, interval };
}

/** The range of an address that does not move with the clock. */
export function fixedRangeOf({ from, to }: RangeSearch): { readonly from: number; readonly to: number } | undefined {
  const [start, end] = [Date.parse(from ?? ""), Date.parse(to ?? "")];
  return start < end ? { from: start, to: end } : undefined;
}

/** The range of the same length before, or after if `steps` is 1. */
export function shiftRange({ from, to }: Pick<TimeRange, "from" | "to">, steps: -1 | 1): RangeSearch {
  const shift = (to - from) * steps;
  return fixedSearch(from + shift, to + shift);
}

export function fixedSearch(from: number, to: number): RangeSearch {
  return { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
}

function intervalFor(from: number, to: number, now: number): TimeRange["interval"] {
  const fitting = bounds.find(({ keptMs, longestMs }) => to - from <= longestMs && from >= now - keptMs);
  return fitting?.interval ?? "day";
}

function wholeIntervals(from: number, to: number, interval: TimeRange["interval"]): TimeRange {
  const span = intervals[interval];
  return { from: Math.floor(from / span) * span, to: Math.ceil(to / span) * span, interval };
}
