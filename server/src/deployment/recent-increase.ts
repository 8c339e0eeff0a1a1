/** The increase of monotonic counters in a recent time span. */
export interface RecentIncrease {
  /** @returns the increase of each counter within the time span, or since the start of the process */
  add(now: number, counts: readonly number[]): number[];
}

interface Sample {
  readonly at: number;
  readonly counts: readonly number[];
}

/** @param startedAt when all counters were 0 */
export function createRecentIncrease(spanMs: number, startedAt: number): RecentIncrease {
  const samples: Sample[] = [{ at: startedAt, counts: [] }];
  return {
    add(now, counts) {
      samples.push({ at: now, counts });
      // The first sample is the last one from before the time span.
      while (samples[1] !== undefined && samples[1].at <= now - spanMs) samples.shift();
      return counts.map((count, index) => count - (samples[0]?.counts[index] ?? 0));
    },
  };
}
