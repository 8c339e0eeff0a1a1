/** What is told of one thing that is counted or measured. */
interface MetricRow {
  readonly type: "counter" | "gauge" | "histogram";
  readonly labels: readonly string[];
  /** How the values of several processes become one. */
  readonly across: "sum" | "max" | "first";
  readonly help: string;
}

/**
 * Every metric of ours, one row each, by the names that Prometheus has for such things: `docs/metrics.md` is this list. Those
 * that begin with `process_` and `nodejs_` are prom-client's own.
 */
export const metricCatalogue = {
  rollcall_build_info: {
    type: "gauge",
    labels: ["version", "node"],
    across: "first",
    help: "1, with what is running as labels.",
  },
  rollcall_http_requests_total: {
    type: "counter",
    labels: ["operation", "method", "route", "status"],
    across: "sum",
    help: "Requests that were answered. What is no operation is (unknown), (broken), (preflight) or (page).",
  },
  rollcall_http_request_duration_seconds: {
    type: "histogram",
    labels: ["operation"],
    across: "sum",
    help: "Time from the head of a request to the end of its answer.",
  },
  rollcall_http_requests_in_flight: {
    type: "gauge",
    labels: [],
    across: "sum",
    help: "Requests that are not answered yet.",
  },
  rollcall_http_requests_aborted_total: {
    type: "counter",
    labels: [],
    across: "sum",
    help: "Requests whose connection ended before their answer did.",
  },
  rollcall_http_connections: { type: "gauge", labels: [], across: "sum", help: "Open connections of clients." },
  rollcall_http_received_bytes_total: {
    type: "counter",
    labels: [],
    across: "sum",
    help: "Bytes from clients, uploads and heads included.",
  },
  rollcall_http_sent_bytes_total: {
    type: "counter",
    labels: [],
    across: "sum",
    help: "Bytes to clients, downloads and heads included.",
  },
  rollcall_batch_items_total: {
    type: "counter",
    labels: ["operation", "status"],
    across: "sum",
    help: "Calls in batches. The batches themselves are requests.",
  },
  rollcall_application_requests_total: {
    type: "counter",
    labels: ["application", "status"],
    across: "sum",
    help: "Requests with a good token of an application, by the class of their status; the less busy ones are other.",
  },
  rollcall_errors_total: {
    type: "counter",
    labels: ["condition"],
    across: "sum",
    help: "Refusals and failures, in batches too, by their condition (errors.md).",
  },
  rollcall_rate_limited_total: {
    type: "counter",
    labels: ["limit"],
    across: "sum",
    help: "Calls above a limit: caller, application, address, operation, or sign-in where passwords are guessed.",
  },
} as const satisfies Readonly<Record<string, MetricRow>>;

export type MetricName = keyof typeof metricCatalogue;
