import { AggregatorRegistry, Registry } from "prom-client";
import type { Histogram } from "../lib/histogram.ts";
import { type MetricName, metricCatalogue } from "./catalogue.ts";

export interface Sample {
  readonly value: number;
  readonly labels: Readonly<Record<string, string | number>>;
  /** Of a histogram, which of its series. */
  readonly metricName?: string;
}

export interface MetricSamples {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  /** How the values of several processes become one, in the words of prom-client. */
  readonly aggregator: string;
  readonly values: readonly Sample[];
}

/** All metrics of one process at one moment: plain values, which can be sent to another process as JSON. */
export type Snapshot = readonly MetricSamples[];

/** How each metric is read. */
export type Readers = { readonly [Name in MetricName]: () => Iterable<Sample> };

/** Reads all metrics of ours. */
export function readMetrics(readers: Readers): Snapshot {
  return Object.entries(readers).map(([name, read]) => {
    const { type, help, across } = metricCatalogue[name as MetricName]; // the keys of Readers
    return { name, help, type, aggregator: across, values: [...read()] };
  });
}

/**
 * What is counted in fractions (seconds), down to a whole number of 2^-20. Such numbers have the same sum in whichever order
 * they are added, and processes answer in any: the sum of others can come out a last digit less than before, which reads as
 * one that began anew.
 */
export function withExactSums(snapshot: Snapshot): Snapshot {
  return snapshot.map((metric) => (isCount(metric) ? { ...metric, values: metric.values.map(exactly) } : metric));
}

export function isCount({ type, aggregator }: MetricSamples): boolean {
  return (type === "counter" || type === "histogram") && aggregator === "sum";
}

function exactly(sample: Sample): Sample {
  if (!Number.isFinite(sample.value) || Number.isInteger(sample.value)) return sample;
  return { ...sample, value: Math.floor(sample.value * fraction) / fraction };
}

const fraction = 2 ** 20;

export const snapshotContentType = Registry.PROMETHEUS_CONTENT_TYPE;

/** The metrics of several processes as those of one, as Prometheus reads them. */
export function renderSnapshots(snapshots: readonly Snapshot[]): Promise<string> {
  return AggregatorRegistry.aggregate(snapshots.map((each) => each.map(renderable))).metrics();
}

function renderable(metric: MetricSamples): MetricSamples {
  return {
    ...metric,
    // The library leaves out when a process began, where there could be several; the first one tells as much.
    aggregator: metric.aggregator === "omit" ? "min" : metric.aggregator,
    values: metric.values.map((sample) => ({ ...sample, value: sample.value ?? Number.NaN })), // JSON has no NaN
  };
}

/** The series of a histogram, of which each bucket has those below it, too. */
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
