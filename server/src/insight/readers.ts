import type { Audit } from "../audit/audit.ts";
import type { Callers } from "../auth/caller.ts";
import type { Passwords } from "../auth/passwords.ts";
import type { Background } from "../background.ts";
import type { Database } from "../db/database.ts";
import type { Pictures } from "../pictures/pictures.ts";
import { type ApplicationCounts, statusClasses } from "./application-counts.ts";
import type { RequestCounts } from "./requests.ts";
import type { Sample } from "./samples.ts";
import { type Readers, samplesOf } from "./snapshot.ts";

/** What is read when somebody asks. */
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
  readonly audit: Pick<Audit, "waitingCount">;
  /** By whom they were for. */
  readonly lockOuts: Readonly<Record<string, number>>;
  readonly maintenance: { readonly finishedAt: number | undefined };
  /** How an operation is called, where it is one. */
  describeOperation(name: string): { readonly method: string; readonly route: string } | undefined;
}

/** How each metric of the catalogue is read: nothing is computed before somebody asks. */
export function createReaders(sources: Sources): Readers {
  const { requests, applications, database, passwords, callers, pictures, compactor } = sources;
  return {
    rollcall_build_info: () => [one(1, { version: sources.version, node: process.version })],
    rollcall_processes: () => [one(1)],

    *rollcall_http_requests_total() {
      for (const [operation, { byStatus }] of requests.operations) {
        const labels = { operation, ...sources.describeOperation(operation) };
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
    rollcall_http_connections: () => [one(requests.traffic().connections)],
    rollcall_http_received_bytes_total: () => [one(requests.traffic().received)],
    rollcall_http_sent_bytes_total: () => [one(requests.traffic().sent)],

    *rollcall_batch_items_total() {
      for (const [operation, byStatus] of requests.items) {
        for (const [status, count] of byStatus) yield one(count, { operation, status });
      }
    },
    *rollcall_application_requests_total() {
      for (const [application, byClass] of applications.tell()) {
        for (const [index, status] of statusClasses.entries()) yield one(byClass[index] ?? 0, { application, status });
      }
    },
    rollcall_errors_total: () => byLabel("condition", requests.errors),
    rollcall_rate_limited_total: () => byLabel("limit", requests.limited),
    rollcall_sign_in_lock_outs_total: () => byLabel("scope", new Map(Object.entries(sources.lockOuts))),

    rollcall_tokens_known: () => [one(callers.statistics().size)],
    *rollcall_token_look_ups_total() {
      const { hits, misses } = callers.statistics();
      yield one(hits, { from: "memory" });
      yield one(misses, { from: "database" });
    },
    rollcall_password_hashes_waiting: () => [one(passwords.statistics().waiting)],
    rollcall_password_hashes_running: () => [one(passwords.statistics().running)],
    rollcall_password_hashes_refused_total: () => [one(passwords.statistics().refused)],
    rollcall_password_hash_duration_seconds: () =>
      samplesOf("rollcall_password_hash_duration_seconds", passwords.statistics().seconds),

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

    rollcall_pictures_waiting: () => [one(pictures.statistics().waiting)],
    rollcall_pictures_running: () => [one(pictures.statistics().running)],
    rollcall_background_running: () => [one(sources.background.runningCount)],
    rollcall_metric_events_waiting: () => [one(compactor.statistics().waiting)],
    rollcall_metric_events_compacted_total: () => [one(compactor.statistics().compacted)],
    rollcall_metric_compactions_running: () => [one(compactor.statistics().running)],
    rollcall_audit_events_waiting: () => [one(sources.audit.waitingCount)],
    *rollcall_maintenance_finished_timestamp_seconds() {
      const { finishedAt } = sources.maintenance;
      if (finishedAt !== undefined) yield one(finishedAt / 1_000);
    },
  };
}

function one(value: number, labels: Sample["labels"] = {}): Sample {
  return { value, labels };
}

function* byLabel(label: string, counts: ReadonlyMap<string, number>): Iterable<Sample> {
  for (const [name, count] of counts) yield one(count, { [label]: name });
}
