/** The description of one metric. */
interface MetricRow {
  readonly type: "counter" | "gauge" | "histogram";
  readonly labels: readonly string[];
  /** How the values of several processes are combined. */
  readonly across: "sum" | "max" | "first";
  readonly help: string;
}

/**
 * All metrics of Rollcall, by their Prometheus names; `docs/run/metrics.md` is generated from this list. Metrics that begin
 * with `process_` and `nodejs_` come from prom-client.
 */
export const metricCatalogue = {
  rollcall_build_info: {
    type: "gauge",
    labels: ["version", "node"],
    across: "first",
    help: "Always 1; the labels name the running version.",
  },
  rollcall_processes: {
    type: "gauge",
    labels: [],
    across: "sum",
    help: "Processes in this scrape (WORKERS).",
  },
  rollcall_http_requests_total: {
    type: "counter",
    labels: ["operation", "method", "route", "status"],
    across: "sum",
    help: "Answered requests. Requests without an operation count as (unknown), (broken), (preflight) or (page).",
  },
  rollcall_http_request_duration_seconds: {
    type: "histogram",
    labels: ["operation"],
    across: "sum",
    help: "Time from the head of a request to the end of its response.",
  },
  rollcall_http_requests_in_flight: {
    type: "gauge",
    labels: [],
    across: "sum",
    help: "Requests in progress.",
  },
  rollcall_http_requests_aborted_total: {
    type: "counter",
    labels: [],
    across: "sum",
    help: "Requests whose connection closed before the end of the response.",
  },
  rollcall_rehearsed_total: {
    type: "counter",
    labels: [],
    across: "sum",
    help: "Calls with a rehearsed answer, also in batches; no other metric counts them.",
  },
  rollcall_http_connections: { type: "gauge", labels: [], across: "sum", help: "Open connections of clients." },
  rollcall_http_received_bytes_total: {
    type: "counter",
    labels: [],
    across: "sum",
    help: "Bytes received from clients.",
  },
  rollcall_http_sent_bytes_total: {
    type: "counter",
    labels: [],
    across: "sum",
    help: "Bytes sent to clients.",
  },
  rollcall_batch_items_total: {
    type: "counter",
    labels: ["operation", "status"],
    across: "sum",
    help: "Calls in batches.",
  },
  rollcall_application_requests_total: {
    type: "counter",
    labels: ["application", "status"],
    across: "sum",
    help: "Requests with a valid token, by status class; less busy applications count as other.",
  },
  rollcall_errors_total: {
    type: "counter",
    labels: ["condition"],
    across: "sum",
    help: "Refusals and failures, also in batches.",
  },
  rollcall_rate_limited_total: {
    type: "counter",
    labels: ["limit"],
    across: "sum",
    help: "Calls above a rate limit: caller, application, address, operation, events, or sign-in for password guessing.",
  },
  rollcall_limit_outages_total: {
    type: "counter",
    labels: [],
    across: "sum",
    help: "Times a process began to count calls separately, because PostgreSQL did not answer in time.",
  },
  rollcall_sign_in_lock_outs_total: {
    type: "counter",
    labels: ["scope"],
    across: "sum",
    help: "Callers that must wait after wrong passwords: addresses, or recognized origins (origin).",
  },
  rollcall_password_guessing_total: {
    type: "counter",
    labels: ["of"],
    across: "sum",
    help: "Names of users and operators with a hundred wrong passwords within an hour.",
  },
  rollcall_tokens_known: {
    type: "gauge",
    labels: [],
    across: "sum",
    help: "Decoded tokens in memory (TOKEN_CACHE_ITEMS_MAX).",
  },
  rollcall_token_look_ups_total: {
    type: "counter",
    labels: ["from"],
    across: "sum",
    help: "Valid tokens found in memory, and tokens looked up in the database.",
  },
  rollcall_password_hashes_waiting: {
    type: "gauge",
    labels: ["lane"],
    across: "sum",
    help: "Password hashes in the queue (PASSWORD_HASH_QUEUE_MAX), for recognized and unrecognized callers.",
  },
  rollcall_password_hashes_running: {
    type: "gauge",
    labels: ["lane"],
    across: "sum",
    help: "Password hashes being computed.",
  },
  rollcall_password_hashes_refused_total: {
    type: "counter",
    labels: ["lane"],
    across: "sum",
    help: "Sign-ins refused because the queue was full.",
  },
  rollcall_password_hashes_abandoned_total: {
    type: "counter",
    labels: ["lane"],
    across: "sum",
    help: "Password hashes dropped because the client disconnected.",
  },
  rollcall_password_hash_duration_seconds: {
    type: "histogram",
    labels: [],
    across: "sum",
    help: "Time to compute a password hash, without the time in the queue.",
  },
  rollcall_database_statement_duration_seconds: {
    type: "histogram",
    labels: [],
    across: "sum",
    help: "Time of each statement; on PostgreSQL including the wait for a connection.",
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
    help: "Writes that shared one commit; on PostgreSQL, only new objects, devices and events do.",
  },
  rollcall_database_transactions_waiting: {
    type: "gauge",
    labels: [],
    across: "sum",
    help: "Transactions that wait for the next group (SQLite) or for a connection (PostgreSQL).",
  },
  rollcall_database_connections_in_use: {
    type: "gauge",
    labels: [],
    across: "sum",
    help: "Connections reserved by a transaction.",
  },
  rollcall_database_connections_max: {
    type: "gauge",
    labels: [],
    across: "sum",
    help: "The connection limit: DATABASE_CONNECTIONS_MAX on PostgreSQL, the one writer on SQLite.",
  },
  rollcall_database_reruns_total: {
    type: "counter",
    labels: [],
    across: "sum",
    help: "Batches and keyed calls retried after a conflict, or because a step must not run inside a transaction.",
  },
  rollcall_pictures_waiting: {
    type: "gauge",
    labels: ["lane"],
    across: "sum",
    help: "Pictures that wait to be decoded: upload, read (with a token) or link (with a signedUrl).",
  },
  rollcall_pictures_running: {
    type: "gauge",
    labels: ["lane"],
    across: "sum",
    help: "Pictures being decoded.",
  },
  rollcall_pictures_refused_total: {
    type: "counter",
    labels: ["lane"],
    across: "sum",
    help: "Pictures refused because the queue was full.",
  },
  rollcall_pictures_abandoned_total: {
    type: "counter",
    labels: ["lane"],
    across: "sum",
    help: "Pictures dropped because the client disconnected.",
  },
  rollcall_background_running: {
    type: "gauge",
    labels: [],
    across: "sum",
    help: "Work that continues after the response to its request.",
  },
  rollcall_metric_events_waiting: {
    type: "gauge",
    labels: [],
    across: "sum",
    help: "App events (POST /metrics/events) received by this process that wait for compaction.",
  },
  rollcall_metric_events_compacted_total: {
    type: "counter",
    labels: [],
    across: "sum",
    help: "App events that were compacted.",
  },
  rollcall_metric_compactions_running: {
    type: "gauge",
    labels: [],
    across: "sum",
    help: "Applications whose events are being compacted.",
  },
  rollcall_events_recorded_total: {
    type: "counter",
    labels: [],
    across: "sum",
    help: "Rows in the logs of events (GET /events), including those of failed transactions.",
  },
  rollcall_events_without_position: {
    type: "gauge",
    labels: [],
    across: "max",
    help: "Events on PostgreSQL without a position in the log, at most five seconds ago; bounded by EVENTS_BACKLOG_MAX for each application.",
  },
  rollcall_events_without_position_seconds: {
    type: "gauge",
    labels: [],
    across: "max",
    help: "Age of the oldest of these events; 0 without any.",
  },
  rollcall_event_streams: {
    type: "gauge",
    labels: ["state"],
    across: "sum",
    help: "Open streams of events: live (at the end of the log) or behind (reading the log, or waiting for their clients); waiting are long polls.",
  },
  rollcall_events_pulled_total: {
    type: "counter",
    labels: [],
    across: "sum",
    help: "Events in answers to GET /events.",
  },
  rollcall_event_stream_frames_total: {
    type: "counter",
    labels: [],
    across: "sum",
    help: "Events written to the connections of streams.",
  },
  rollcall_event_told_seconds: {
    type: "histogram",
    labels: [],
    across: "sum",
    help: "Time from the write of an event until it is written to the connections of streams.",
  },
  rollcall_audit_events_waiting: {
    type: "gauge",
    labels: [],
    across: "sum",
    help: "Entries of the audit log that are not written yet.",
  },
  rollcall_webhook_attempts_total: {
    type: "counter",
    labels: ["outcome"],
    across: "sum",
    help: "Events sent to webhooks: delivered, failed, refused (the URL leads to an internal address), held (Retry-After), gone (410).",
  },
  rollcall_webhooks_serving: {
    type: "gauge",
    labels: [],
    across: "sum",
    help: "Webhooks to which events are being sent.",
  },
  rollcall_webhooks: {
    type: "gauge",
    labels: ["state"],
    across: "max",
    help: "Webhooks by state, at most half a minute old.",
  },
  rollcall_webhook_behind_events: {
    type: "gauge",
    labels: ["application", "webhook"],
    across: "max",
    help: "Events that wait for a webhook that is not paused, 10,000 at most, for 1,000 webhooks at most.",
  },
  rollcall_webhook_behind_seconds: {
    type: "gauge",
    labels: ["application", "webhook"],
    across: "max",
    help: "Age of the oldest of these events.",
  },
  rollcall_mails_total: {
    type: "counter",
    labels: ["outcome"],
    across: "sum",
    help: "Attempts to send a mail: sent, failed (will be retried), dead (refused permanently) or expired.",
  },
  rollcall_mails_sending: { type: "gauge", labels: [], across: "sum", help: "Mails being sent." },
  rollcall_mails_refused_total: {
    type: "counter",
    labels: ["reason"],
    across: "sum",
    help: "Mails not sent: above the limit for a user, an address or notices, too many waiting (outbox), or an invalid address (form).",
  },
  rollcall_mail_texts_replaced_total: {
    type: "counter",
    labels: ["reason"],
    across: "sum",
    help: "Mail texts of clients replaced by the application's: for a link, their length, or too many within an hour.",
  },
  rollcall_storage_problems: {
    type: "gauge",
    labels: ["kind"],
    across: "max",
    help: "1 after a failed health check: disk (the embedded database or files cannot be written) or files (the store of FILES_URL).",
  },
  rollcall_certificate_ends_timestamp_seconds: {
    type: "gauge",
    labels: [],
    across: "max",
    help: "When the certificate of TLS_CERT_FILE expires.",
  },
  rollcall_lost_timestamp_seconds: {
    type: "gauge",
    labels: ["what"],
    across: "max",
    help: "When entries of the audit log (audit) or log lines (log) were last lost; absent if none were.",
  },
  rollcall_backup_finished_timestamp_seconds: {
    type: "gauge",
    labels: [],
    across: "max",
    help: "When rollcall backup finished the newest backup; absent if it made none.",
  },
  rollcall_backup_bytes: { type: "gauge", labels: [], across: "max", help: "The size of that backup." },
  rollcall_maintenance_finished_timestamp_seconds: {
    type: "gauge",
    labels: [],
    across: "max",
    help: "Time of the last maintenance, which runs every minute.",
  },
  rollcall_maintenance_failures_total: {
    type: "counter",
    labels: ["step", "application"],
    across: "sum",
    help: "Failed steps of maintenance; application is empty for steps of the deployment.",
  },
  rollcall_job_failures_total: {
    type: "counter",
    labels: ["job"],
    across: "sum",
    help: "Failed runs of background jobs, such as the search for due mails; they are repeated at their interval.",
  },
} as const satisfies Readonly<Record<string, MetricRow>>;

export type MetricName = keyof typeof metricCatalogue;
