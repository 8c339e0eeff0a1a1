/** The lengths, in milliseconds, of the intervals in UTC by which activity is counted. */
export const spans = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const;

export type Interval = keyof typeof spans;

/** Returns the start of the interval that contains a time. */
export function startOf(interval: Interval, at: number): number {
  return Math.floor(at / spans[interval]) * spans[interval];
}
