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

/** Whether it only ever grows, and what processes have counted adds up. */
export function isCount({ type, aggregator }: MetricSamples): boolean {
  return (type === "counter" || type === "histogram") && aggregator === "sum";
}
