export interface Sample {
  readonly value: number;
  readonly labels: Readonly<Partial<Record<string, string | number>>>;
  /** For a histogram, the name of the series. */
  readonly metricName?: string;
}

export interface MetricSamples {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  /** How the values of several processes are combined, in prom-client's terms. */
  readonly aggregator: string;
  readonly values: readonly Sample[];
}

/** All metrics of one process at one moment, as plain values that can be sent to another process as JSON. */
export type Snapshot = readonly MetricSamples[];

/** Whether the metric only grows, so that the values of processes add up. */
export function isCount({ type, aggregator }: MetricSamples): boolean {
  return (type === "counter" || type === "histogram") && aggregator === "sum";
}
