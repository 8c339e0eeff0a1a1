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
    help: "Always 1; the labels are the version that runs.",
  },
  rollcall_processes: {
    type: "gauge",
    labels: [],
    across: "sum",
    help: "Processes whose metrics this scrape includes (WORKERS).",
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
    help: "Requests whose connection closed before the response was complete.",
  },
  rollcall_rehearsed_total: {
    type: "counter",
    labels: [],
    across: "sum",
    help: "Calls, also in batches, whose clients rehearsed their answer; no other metric of requests counts them.",
  },
  rollcall_http_connections: { type: "gauge", labels: [], across: "sum", help: "Open connections of clients." },
  rollcall_http_received_bytes_total: {
    type: "counter",
    labels: [],
    across: "sum",
    help: "Bytes received from clients, including uploads and heads.",
  },
  rollcall_http_sent_bytes_total: {
    type: "counter",
    labels: [],
    across: "sum",
    help: "Bytes sent to clients, including downloads and heads.",
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
    help: "Requests with a valid token of an application, by status class; less busy applications count as other.",
  },
  rollcall_errors_total: {
    type: "counter",
    labels: ["condition"],
    across: "sum",
    help: "Refusals and failures, including those in batches, by error condition (errors.md).",
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
    help: "Times a process began to count calls for itself, because PostgreSQL did not answer in time.",
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
    help: "Names of users and operators with a hundred wrong passwords within an hour. This alone delays no sign-in.",
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
    help: "Valid tokens answered from memory, and tokens looked up in the database.",
  },
  rollcall_password_hashes_waiting: {
    type: "gauge",
    labels: ["lane"],
    across: "sum",
    help: "Password hashes in the queue (PASSWORD_HASH_QUEUE_MAX), for recognized and for unrecognized users and operators.",
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
    help: "Sign-ins that were refused because the queue was full.",
  },
  rollcall_password_hashes_abandoned_total: {
    type: "counter",
    labels: ["lane"],
    across: "sum",
    help: "Password hashes that were dropped because the client disconnected.",
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
    help: "Transactions that wait to begin: for the next group on SQLite, or for a connection on PostgreSQL.",
  },
  rollcall_database_connections_in_use: {
    type: "gauge",
    labels: [],
    across: "sum",
    help: "Connections that are reserved by a transaction.",
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
    help: "Batches and keyed calls that were retried after a conflict, or because one of their steps must not run inside a transaction.",
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
    help: "Pictures that were not decoded because the queue was full.",
  },
  rollcall_pictures_abandoned_total: {
    type: "counter",
    labels: ["lane"],
    across: "sum",
    help: "Pictures that were dropped because the client disconnected.",
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
    help: "App events (POST /metrics/events) that wait for compaction, as far as this process received them.",
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
    help: "Rows in the logs of events (GET /events), those of transactions that failed afterwards included.",
  },
  rollcall_events_without_position: {
    type: "gauge",
    labels: [],
    across: "max",
    help: "Events on PostgreSQL that have no position in the log yet, at most five seconds ago, in the process that looks for them; bounded by EVENTS_BACKLOG_MAX for each application.",
  },
  rollcall_events_without_position_seconds: {
    type: "gauge",
    labels: [],
    across: "max",
    help: "Age of the oldest of these events at the time of the scrape; 0 if there is none.",
  },
  rollcall_event_streams: {
    type: "gauge",
    labels: ["state"],
    across: "sum",
    help: "Open streams of events: live (at the end of the log) or behind (going on from the log, or waiting for their clients to read), and calls that wait for events (waiting), which count as streams.",
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
    help: "Events that were handed to the connections of streams.",
  },
  rollcall_event_told_seconds: {
    type: "histogram",
    labels: [],
    across: "sum",
    help: "From the write of an event to its handing over to the connections of streams.",
  },
  rollcall_audit_events_waiting: {
    type: "gauge",
    labels: [],
    across: "sum",
    help: "Audit log events that are not written yet.",
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
    help: "Webhooks that events are being sent to.",
  },
  rollcall_webhooks: {
    type: "gauge",
    labels: ["state"],
    across: "max",
    help: "Webhooks of the deployment: active, paused, failing (the receiver does not accept events) or disabled. At most half a minute old.",
  },
  rollcall_webhook_behind_events: {
    type: "gauge",
    labels: ["application", "webhook"],
    across: "max",
    help: "Events that wait to be sent to a webhook, 10,000 at most; of the webhooks with waiting events that are not paused, 1,000 at most.",
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
    help: "Mails that were not sent: above the limit for a user, an address or notices, too many waiting (outbox), or an invalid address (form).",
  },
  rollcall_mail_texts_replaced_total: {
    type: "counter",
    labels: ["reason"],
    across: "sum",
    help: "Mail texts from clients that were replaced by the application's own: for a link, their length, or too many within an hour.",
  },
  rollcall_storage_problems: {
    type: "gauge",
    labels: ["kind"],
    across: "max",
    help: "1 after a failed health check: disk (the embedded database or files cannot be written) or files (the store of FILES_URL). Scrapes and readiness probes start the checks.",
  },
  rollcall_certificate_ends_timestamp_seconds: {
    type: "gauge",
    labels: [],
    across: "max",
    help: "When the certificate of TLS_CERT_FILE ends.",
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
    help: "Time of the last maintenance run; it runs every minute.",
  },
  rollcall_maintenance_failures_total: {
    type: "counter",
    labels: ["step", "application"],
    across: "sum",
    help: "Steps of maintenance that failed, and are retried in a minute; application is empty for steps of the whole deployment.",
  },
  rollcall_job_failures_total: {
    type: "counter",
    labels: ["job"],
    across: "sum",
    help: "Failed runs of background jobs, such as the search for due mails; they are repeated at their interval.",
  },
} as const satisfies Readonly<Record<string, MetricRow>>;

export type MetricName = keyof typeof metricCatalogue;
