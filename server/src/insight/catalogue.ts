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
  rollcall_processes: { type: "gauge", labels: [], across: "sum", help: "Processes that this tells of (WORKERS)." },
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
  rollcall_sign_in_lock_outs_total: {
    type: "counter",
    labels: ["scope"],
    across: "sum",
    help: "Callers (address) and user names (name) that have to wait because passwords were guessed.",
  },
  rollcall_tokens_known: {
    type: "gauge",
    labels: [],
    across: "sum",
    help: "Opened tokens in memory (TOKEN_CACHE_ITEMS_MAX).",
  },
  rollcall_token_look_ups_total: {
    type: "counter",
    labels: ["from"],
    across: "sum",
    help: "Good tokens that memory was enough for, and tokens that the database was asked about.",
  },
  rollcall_password_hashes_waiting: {
    type: "gauge",
    labels: [],
    across: "sum",
    help: "Password hashes that wait for their turn (PASSWORD_HASH_QUEUE_MAX).",
  },
  rollcall_password_hashes_running: {
    type: "gauge",
    labels: [],
    across: "sum",
    help: "Password hashes that are computed now.",
  },
  rollcall_password_hashes_refused_total: {
    type: "counter",
    labels: [],
    across: "sum",
    help: "Sign-ins that were refused because too many waited.",
  },
  rollcall_password_hash_duration_seconds: {
    type: "histogram",
    labels: [],
    across: "sum",
    help: "Time that a password hash takes, once it is its turn.",
  },
  rollcall_database_statement_duration_seconds: {
    type: "histogram",
    labels: [],
    across: "sum",
    help: "Time of each statement; on PostgreSQL with the wait for a connection.",
  },
  rollcall_database_commit_duration_seconds: {
    type: "histogram",
    labels: [],
    across: "sum",
    help: "Time of each commit; on SQLite one fsync.",
  },
  rollcall_database_commit_transactions: {
    type: "histogram",
    labels: [],
    across: "sum",
    help: "Transactions that shared one commit; on PostgreSQL always one.",
  },
  rollcall_database_transactions_waiting: {
    type: "gauge",
    labels: [],
    across: "sum",
    help: "Transactions that wait to begin: for the next group of SQLite, or a connection of PostgreSQL.",
  },
  rollcall_database_connections_in_use: {
    type: "gauge",
    labels: [],
    across: "sum",
    help: "Connections that a transaction has to itself.",
  },
  rollcall_database_connections_max: {
    type: "gauge",
    labels: [],
    across: "sum",
    help: "Of PostgreSQL, DATABASE_CONNECTIONS_MAX; of SQLite the one that writes.",
  },
  rollcall_database_reruns_total: {
    type: "counter",
    labels: [],
    across: "sum",
    help: "Batches and keyed calls that were run again, for a conflict or because something in them must not hold up a transaction.",
  },
  rollcall_pictures_waiting: {
    type: "gauge",
    labels: [],
    across: "sum",
    help: "Pictures that wait to be decoded.",
  },
  rollcall_pictures_running: {
    type: "gauge",
    labels: [],
    across: "sum",
    help: "Pictures that are decoded now.",
  },
  rollcall_background_running: {
    type: "gauge",
    labels: [],
    across: "sum",
    help: "Work that goes on after its request was answered.",
  },
  rollcall_metric_events_waiting: {
    type: "gauge",
    labels: [],
    across: "sum",
    help: "Events of apps (POST /metrics/events) that wait to be compacted, as far as this process took them.",
  },
  rollcall_metric_events_compacted_total: {
    type: "counter",
    labels: [],
    across: "sum",
    help: "Events of apps that were compacted.",
  },
  rollcall_metric_compactions_running: {
    type: "gauge",
    labels: [],
    across: "sum",
    help: "Applications whose events are compacted now.",
  },
  rollcall_audit_events_waiting: {
    type: "gauge",
    labels: [],
    across: "sum",
    help: "Events of the audit log that are not written yet.",
  },
  rollcall_maintenance_finished_timestamp_seconds: {
    type: "gauge",
    labels: [],
    across: "max",
    help: "When maintenance was done last, which is every minute.",
  },
} as const satisfies Readonly<Record<string, MetricRow>>;

export type MetricName = keyof typeof metricCatalogue;
