import { isCount, type MetricSamples, type Sample, type Snapshot } from "./samples.ts";

/** What workers ask each other for when one of them is scraped: a `Snapshot`. */
export const metricsQuestion = "metrics";

/**
 * What has been counted by workers that are gone counts still: a sum that became less would be read as one that began anew,
 * and all of it as new. Of what is no count nothing is kept.
 *
 * @param kept of those that have gone before; undefined where there is none
 * @param last what the one that is gone has told last
 */
export function keepCounts(kept: unknown, last: unknown): Snapshot {
  const all = [...((kept ?? []) as Snapshot), ...(last as Snapshot)]; // as workers answer
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
