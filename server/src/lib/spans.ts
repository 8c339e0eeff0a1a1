import { earliestMs } from "./dates.ts";
import { ApiError } from "./errors.ts";

/** The lengths, in milliseconds, of the intervals in UTC by which activity is counted. */
export const spans = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const;

export type Interval = keyof typeof spans;

/** Returns the start of the interval that contains a time. */
export function startOf(interval: Interval, at: number): number {
  return Math.floor(at / spans[interval]) * spans[interval];
}

/** A range of complete intervals. */
export interface Range {
  readonly from: number;
  /** Exclusive upper bound. */
  readonly to: number;
}

const defaultMs: Readonly<Record<Interval, number>> = { minute: spans.hour, hour: spans.day, day: 30 * spans.day };
const intervalsMax = 2_000;

/**
 * Extends a range to complete intervals. Without `to` it includes the interval that starts now.
 *
 * @throws ApiError ParameterOutOfRange
 */
export function readRange(
  interval: Interval,
  { from, to }: { readonly from?: number | undefined; readonly to?: number | undefined },
  now: number,
): Range {
  const span = spans[interval];
  const end = to ?? now + 1;
  const start = from ?? end - defaultMs[interval];
  if (start > end) throw new ApiError("ParameterOutOfRange", "to must not be before from.", { parameter: "to" });
  const range = { from: startOf(interval, Math.max(start, earliestMs)), to: Math.ceil(end / span) * span };
  if (range.to - range.from <= intervalsMax * span) return range;
  throw new ApiError("ParameterOutOfRange", `from and to must not be more than ${intervalsMax} intervals apart.`, {
    parameter: "from",
  });
}
