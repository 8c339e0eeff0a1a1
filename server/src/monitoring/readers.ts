import type { Audit } from "../audit/audit.ts";
import type { Callers } from "../auth/caller.ts";
import type { Passwords } from "../auth/passwords.ts";
import type { Log } from "../config/log.ts";
import type { Database } from "../db/database.ts";
import type { Backup } from "../db/deployment-facts.ts";
import type { EventLog } from "../event-log/event-log.ts";
import type { EventRecorder } from "../event-log/recorder.ts";
import type { Background } from "../jobs/background.ts";
import type { Jobs } from "../jobs/job.ts";
import type { Steps } from "../jobs/steps.ts";
import type { Clock } from "../lib/clock.ts";
import type { Histogram } from "../lib/histogram.ts";
import type { LimitCounters } from "../limits/counters.ts";
import type { LaneStatistics } from "../limits/fair-queue.ts";
import type { Delivery } from "../mail/delivery.ts";
import type { Outbox } from "../mail/outbox.ts";
import type { Pictures } from "../pictures/pictures.ts";
import type { StorageHealth } from "../storage/storage-health.ts";
import { type ApplicationCounts, statusClasses } from "./application-counts.ts";
import type { RequestCounts } from "./requests.ts";
import type { Sample } from "./samples.ts";
import { type Readers, samplesOf } from "./snapshot.ts";

/** The state that is read on each scrape. */
export interface Sources {
  readonly version: string;
  readonly requests: RequestCounts;
  readonly applications: ApplicationCounts;
  readonly database: Pick<Database, "statistics">;
  readonly passwords: Pick<Passwords, "statistics">;
  readonly callers: Pick<Callers, "statistics">;
  readonly pictures: Pick<Pictures, "statistics">;
  readonly background: Pick<Background, "runningCount">;
  readonly compactor: {
    statistics(): { readonly waiting: number; readonly running: number; readonly compacted: number };
  };
  readonly events: Pick<EventRecorder, "recordedCount">;
  readonly eventLog: Pick<EventLog, "backlog">;
  readonly streams: {
    statistics(): {
      readonly live: number;
      readonly behind: number;
      readonly waiting: number;
      readonly pulled: number;
      readonly frames: number;
      readonly toldSeconds: Histogram;
    };
  };
  readonly clock: Pick<Clock, "now">;
  readonly audit: Pick<Audit, "waitingCount" | "lostAt">;
  readonly log: Pick<Log, "losses">;
  certificateEnds(): number | undefined;
  backup(): Backup | undefined;
  readonly mails: Pick<Outbox, "statistics">;
  readonly delivery: Pick<Delivery, "statistics">;
  readonly webhookRunner: {
    readonly outcomes: ReadonlyMap<string, number>;
    readonly servingCount: number;
    statistics(): {
      readonly states: ReadonlyMap<string, number>;
      readonly behind: Iterable<{
        readonly applicationId: string;
        readonly id: string;
        readonly events: number;
        readonly since: number;
      }>;
    };
  };
  readonly limitCounters: Pick<LimitCounters, "outages">;
  /** By the kind of account whose passwords are guessed. */
  readonly guessings: Readonly<Record<string, number>>;
  /** By the delayed party: an address, or a recognized origin. */
  readonly lockOuts: Readonly<Record<string, number>>;
  readonly storageHealth: Pick<StorageHealth, "latestProblems">;
  readonly jobs: Pick<Jobs, "statuses">;
  readonly maintenance: Pick<Steps, "failures">;
  /** Returns the operation id of a route, if it is an operation. */
  describeOperation(name: string): { readonly method: string; readonly route: string } | undefined;
}

/** The reader of each metric in the catalogue; nothing is computed until a scrape. */
export function createReaders(sources: Sources): Readers {
  return {
    rollcall_build_info: () => [one(1, { version: sources.version, node: process.version })],
    rollcall_processes: () => [one(1)],
    ...requestReaders(sources),
    ...callerReaders(sources),
    ...databaseReaders(sources),
    ...workReaders(sources),
    ...eventReaders(sources),
    ...healthReaders(sources),
  };
}

function requestReaders({ requests, applications, describeOperation }: Sources) {
  return {
    *rollcall_http_requests_total() {
      for (const [operation, { byStatus }] of requests.operations) {
        const labels = { operation, ...describeOperation(operation) };
        for (const [status, count] of byStatus) yield one(count, { ...labels, status });
      }
    },
    *rollcall_http_request_duration_seconds() {
      for (const [operation, { seconds }] of requests.operations) {
        yield* samplesOf("rollcall_http_request_duration_seconds", seconds, { operation });
      }
    },
    rollcall_http_requests_in_flight: () => [one(requests.inFlight)],
    rollcall_http_requests_aborted_total: () => [one(requests.aborted)],
    rollcall_rehearsed_total: () => [one(requests.rehearsed)],
    rollcall_http_connections: () => [one(requests.traffic().connections)],
    rollcall_http_received_bytes_total: () => [one(requests.traffic().received)],
    rollcall_http_sent_bytes_total: () => [one(requests.traffic().sent)],

    *rollcall_batch_items_total() {
      for (const [operation, byStatus] of requests.items) {
        for (const [status, count] of byStatus) yield one(count, { operation, status });
      }
    },
    *rollcall_application_requests_total() {
      for (const [application, byClass] of applications.report()) {
        for (const [index, status] of statusClasses.entries()) yield one(byClass[index] ?? 0, { application, status });
      }
    },
    rollcall_errors_total: () => byLabel("condition", requests.errors),
    rollcall_rate_limited_total: () => byLabel("limit", requests.limited),
  } satisfies Partial<Readers>;
}

function callerReaders({ callers, passwords, limitCounters, lockOuts, guessings }: Sources) {
  return {
    rollcall_limit_outages_total: () => [one(limitCounters.outages)],
    rollcall_sign_in_lock_outs_total: () => byName("scope", lockOuts),
    rollcall_password_guessing_total: () => byName("of", guessings),
    rollcall_tokens_known: () => [one(callers.statistics().size)],
    *rollcall_token_look_ups_total() {
      const { hits, misses } = callers.statistics();
      yield one(hits, { from: "memory" });
      yield one(misses, { from: "database" });
    },
    rollcall_password_hashes_waiting: () => byLane(passwords.statistics().lanes, "waiting"),
    rollcall_password_hashes_running: () => byLane(passwords.statistics().lanes, "running"),
    rollcall_password_hashes_refused_total: () => byLane(passwords.statistics().lanes, "refused"),
    rollcall_password_hashes_abandoned_total: () => byLane(passwords.statistics().lanes, "abandoned"),
    rollcall_password_hash_duration_seconds: () =>
      samplesOf("rollcall_password_hash_duration_seconds", passwords.statistics().seconds),
  } satisfies Partial<Readers>;
}

function databaseReaders({ database }: Sources) {
  return {
    rollcall_database_statement_duration_seconds: () =>
      samplesOf("rollcall_database_statement_duration_seconds", database.statistics().statements),
    rollcall_database_commit_duration_seconds: () =>
      samplesOf("rollcall_database_commit_duration_seconds", database.statistics().commits.seconds),
    rollcall_database_commit_transactions: () =>
      samplesOf("rollcall_database_commit_transactions", database.statistics().commits.sizes),
    rollcall_database_transactions_waiting: () => [one(database.statistics().waiting)],
    rollcall_database_connections_in_use: () => [one(database.statistics().connections.inUse)],
    rollcall_database_connections_max: () => [one(database.statistics().connections.max)],
    rollcall_database_reruns_total: () => [one(database.statistics().reruns)],
  } satisfies Partial<Readers>;
}

/** Work that is queued, or runs in the background. */
function workReaders({ pictures, background, compactor, audit, delivery, mails }: Sources) {
  return {
    rollcall_pictures_waiting: () => byLane(pictures.statistics(), "waiting"),
    rollcall_pictures_running: () => byLane(pictures.statistics(), "running"),
    rollcall_pictures_refused_total: () => byLane(pictures.statistics(), "refused"),
    rollcall_pictures_abandoned_total: () => byLane(pictures.statistics(), "abandoned"),
    rollcall_background_running: () => [one(background.runningCount)],
    rollcall_metric_events_waiting: () => [one(compactor.statistics().waiting)],
    rollcall_metric_events_compacted_total: () => [one(compactor.statistics().compacted)],
    rollcall_metric_compactions_running: () => [one(compactor.statistics().running)],
    rollcall_audit_events_waiting: () => [one(audit.waitingCount)],
    rollcall_mails_total: () => byName("outcome", delivery.statistics().outcomes),
    rollcall_mails_sending: () => [one(delivery.statistics().sending)],
    rollcall_mails_refused_total: () => byName("reason", mails.statistics().refused),
    rollcall_mail_texts_replaced_total: () => byName("reason", mails.statistics().replaced),
  } satisfies Partial<Readers>;
}

function eventReaders({ events, eventLog, streams, webhookRunner, clock }: Sources) {
  return {
    rollcall_events_recorded_total: () => [one(events.recordedCount)],
    rollcall_events_without_position: () => [one(eventLog.backlog().rows)],
    *rollcall_events_without_position_seconds() {
      const { oldestAt } = eventLog.backlog();
      yield one(oldestAt === undefined ? 0 : Math.max(0, clock.now() - oldestAt) / 1_000);
    },
    *rollcall_event_streams() {
      const { live, behind, waiting } = streams.statistics();
      yield one(live, { state: "live" });
      yield one(behind, { state: "behind" });
      yield one(waiting, { state: "waiting" });
    },
    rollcall_events_pulled_total: () => [one(streams.statistics().pulled)],
    rollcall_event_stream_frames_total: () => [one(streams.statistics().frames)],
    rollcall_event_told_seconds: () => samplesOf("rollcall_event_told_seconds", streams.statistics().toldSeconds),
    rollcall_webhook_attempts_total: () => byLabel("outcome", webhookRunner.outcomes),
    rollcall_webhooks_serving: () => [one(webhookRunner.servingCount)],
    rollcall_webhooks: () => byLabel("state", webhookRunner.statistics().states),
    *rollcall_webhook_behind_events() {
      for (const { applicationId: application, id: webhook, events } of webhookRunner.statistics().behind) {
        yield one(events, { application, webhook });
      }
    },
    *rollcall_webhook_behind_seconds() {
      const now = clock.now();
      for (const { applicationId: application, id: webhook, since } of webhookRunner.statistics().behind) {
        yield one(Math.max(0, now - since) / 1_000, { application, webhook });
      }
    },
  } satisfies Partial<Readers>;
}

function healthReaders(sources: Sources) {
  return {
    *rollcall_storage_problems() {
      const kinds = sources.storageHealth.latestProblems().map(({ kind }) => kind);
      for (const kind of ["disk", "files"] as const) yield one(kinds.includes(kind) ? 1 : 0, { kind });
    },
    *rollcall_certificate_ends_timestamp_seconds() {
      yield* time(sources.certificateEnds());
    },
    *rollcall_lost_timestamp_seconds() {
      yield* time(sources.audit.lostAt, { what: "audit" });
      yield* time(sources.log.losses.at, { what: "log" });
    },
    *rollcall_backup_finished_timestamp_seconds() {
      yield* time(sources.backup()?.at);
    },
    *rollcall_backup_bytes() {
      const backup = sources.backup();
      if (backup !== undefined) yield one(backup.bytes);
    },
    *rollcall_maintenance_finished_timestamp_seconds() {
      yield* time(sources.jobs.statuses().find(({ name }) => name === "maintenance")?.finishedAt);
    },
    *rollcall_maintenance_failures_total() {
      for (const { step, application, count } of sources.maintenance.failures())
        yield one(count, { step, application });
    },
    *rollcall_job_failures_total() {
      for (const { name, failures } of sources.jobs.statuses()) yield one(failures, { job: name });
    },
  } satisfies Partial<Readers>;
}

function one(value: number, labels: Sample["labels"] = {}): Sample {
  return { value, labels };
}

/** Yields nothing for an undefined time. */
function* time(at: number | undefined, labels: Sample["labels"] = {}): Iterable<Sample> {
  if (at !== undefined) yield one(at / 1_000, labels);
}

function* byLane(lanes: Readonly<Record<string, LaneStatistics>>, what: keyof LaneStatistics): Iterable<Sample> {
  for (const [lane, statistics] of Object.entries(lanes)) yield one(statistics[what], { lane });
}

function byName(label: string, counts: Readonly<Record<string, number>>): Iterable<Sample> {
  return byLabel(label, new Map(Object.entries(counts)));
}

function* byLabel(label: string, counts: ReadonlyMap<string, number>): Iterable<Sample> {
  for (const [name, count] of counts) yield one(count, { [label]: name });
}
