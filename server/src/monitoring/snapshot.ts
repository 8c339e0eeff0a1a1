import { AggregatorRegistry, Registry } from "prom-client";
import type { Histogram } from "../lib/histogram.ts";
import { type MetricName, metricCatalogue } from "./catalogue.ts";
import { isCount, type MetricSamples, type Sample, type Snapshot } from "./samples.ts";

/** The reader of each metric. */
export type Readers = { readonly [Name in MetricName]: () => Iterable<Sample> };

/** Reads all metrics of the catalogue. */
export function readMetrics(readers: Readers): Snapshot {
  return Object.entries(readers).map(([name, read]) => {
    const { type, help, across } = metricCatalogue[name as MetricName]; // the keys of Readers
    return { name, help, type, aggregator: across, values: [...read()] };
  });
}

/**
 * Rounds fractional counts (seconds) to a multiple of 2^-20. Such numbers have the same sum in any order, and processes
 * answer in any order; a rounding error would look like a counter reset.
 */
export function withExactSums(snapshot: Snapshot): Snapshot {
  return snapshot.map((metric) => (isCount(metric) ? { ...metric, values: metric.values.map(exactly) } : metric));
}

function exactly(sample: Sample): Sample {
  if (!Number.isFinite(sample.value) || Number.isInteger(sample.value)) return sample;
  return { ...sample, value: Math.floor(sample.value * fraction) / fraction };
}

const fraction = 2 ** 20;

export const snapshotContentType = Registry.PROMETHEUS_CONTENT_TYPE;

/** Combines the metrics of several processes, in Prometheus' text format. */
export function renderSnapshots(snapshots: readonly Snapshot[]): Promise<string> {
  return AggregatorRegistry.aggregate(snapshots.map((each) => each.map(renderable))).metrics();
}

function renderable(metric: MetricSamples): MetricSamples {
  return {
    ...metric,
    // The library drops the start time for several processes; that of the first is good enough.
    aggregator: metric.aggregator === "omit" ? "min" : metric.aggregator,
    values: metric.values.map((sample) => ({ ...sample, value: sample.value ?? Number.NaN })), // JSON has no NaN
  };
}

/** The series of a histogram; each bucket includes the lower ones. */
export function* samplesOf(
  name: MetricName,
  { bounds, counts, sum }: Histogram,
  labels: Sample["labels"] = {},
): Iterable<Sample> {
  let count = 0;
  for (const [index, each] of counts.entries()) {
    count += each;
    yield { metricName: `${name}_bucket`, labels: { ...labels, le: bounds[index] ?? "+Inf" }, value: count };
  }
  yield { metricName: `${name}_sum`, labels, value: sum };
  yield { metricName: `${name}_count`, labels, value: count };
}
