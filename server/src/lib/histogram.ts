/** Counts values by size. An observation costs a few comparisons and no allocation, so that hot paths may use it. */
export class Histogram {
  /** The ascending upper bounds of the buckets; the last bucket is for larger values. */
  readonly bounds: readonly number[];
  readonly counts: Float64Array;
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    const { bounds, counts } = this;
    let index = 0;
    while (index < bounds.length && value > (bounds[index] as number)) index += 1; // in range
    counts[index] = (counts[index] as number) + 1; // counts has one element more than bounds
    this.sum += value;
  }
}

/** In seconds, from half a millisecond to half a minute. */
export const durationBounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
