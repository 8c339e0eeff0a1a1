import type { Static } from "../../../server/src/contract/schema.ts";
import type {
  EventPage,
  MetricPage,
  MetricSeries as MetricSeriesSchema,
  ReadMetric,
} from "../../../server/src/metrics/metrics.operator.contract.ts";
import { operation } from "./call.ts";
import type { PageParameters } from "./pages.ts";

export type Metric = Static<typeof MetricPage>["pageResults"][number];
export type MetricSeries = Static<typeof MetricSeriesSchema>;
export type MetricEvent = Static<typeof EventPage>["pageResults"][number];

interface OfMetric {
  readonly appid: string;
  readonly key: string;
}

export const listMetrics = operation<
  { appid: string; keyPrefix?: string; include?: "days" } & PageParameters,
  Static<typeof MetricPage>
>("GET", "/applications/{appid}/metrics", ["appid", "keyPrefix", "include", "pageSize", "pagingToken"]);

export const readMetric = operation<OfMetric & Static<typeof ReadMetric>, MetricSeries>(
  "GET",
  "/applications/{appid}/metrics/{key}",
  ["appid", "key", "from", "to", "interval", "value", "groupBy"],
);

export const listMetricEvents = operation<
  OfMetric & { from?: number; to?: number } & PageParameters,
  Static<typeof EventPage>
>("GET", "/applications/{appid}/metrics/{key}/events", ["appid", "key", "from", "to", "pageSize", "pagingToken"]);
