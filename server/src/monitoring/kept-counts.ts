import { isCount, type MetricSamples, type Sample, type Snapshot } from "./samples.ts";

/** The IPC request by which a scraped worker gets the `Snapshot` of each peer. */
export const metricsRequest = "metrics";

/**
 * Adds the counters of a worker that has exited to those kept before: a sum that decreases would be read as a restart,
 * and counted again from zero. Gauges are not kept.
 *
 * @param kept the counters of workers that exited earlier; undefined if there are none
 * @param last the last snapshot of the worker that has exited
 */
export function keepCounts(kept: unknown, last: unknown): Snapshot {
  const all = [...((kept ?? []) as Snapshot), ...(last as Snapshot)]; // both come from workers
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
