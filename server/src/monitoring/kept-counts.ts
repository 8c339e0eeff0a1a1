import { isCount, type MetricSamples, type Sample, type Snapshot } from "./samples.ts";

/** The IPC request by which a scraped worker gets the `Snapshot` of each peer. */
export const metricsRequest = "metrics";

/**
 * Adds the counters of an exited worker to those of earlier ones. Otherwise a sum would decrease, and Prometheus would
 * take that for a restart and count again from zero. Gauges are dropped.
 *
 * @param kept the counters of workers that exited earlier, if any
 * @param last the last snapshot of the exited worker
 */
export function keepCounts(kept: unknown, last: unknown): Snapshot {
  const all = [...((kept ?? []) as Snapshot), ...(last as Snapshot)]; // both were sent by workers
  const byName = Map.groupBy(all.filter(isCount), ({ name }) => name);
  return [...byName.values()].flatMap((metrics) => addUp(metrics));
}

function addUp(metrics: readonly MetricSamples[]): MetricSamples[] {
  const sums = new Map<string, Sample>();
  for (const sample of metrics.flatMap(({ values }) => values)) {
    const series = JSON.stringify([sample.metricName, Object.entries(sample.labels).sort()]);
    sums.set(series, { ...sample, value: (sums.get(series)?.value ?? 0) + sample.value });
  }
  return metrics.slice(0, 1).map((metric) => ({ ...metric, values: [...sums.values()] }));
}
