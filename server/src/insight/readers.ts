import { type ApplicationCounts, statusClasses } from "./application-counts.ts";
import type { RequestCounts } from "./requests.ts";
import { type Readers, type Sample, samplesOf } from "./snapshot.ts";

/** What is read when somebody asks. */
export interface Sources {
  readonly version: string;
  readonly requests: RequestCounts;
  readonly applications: ApplicationCounts;
  /** How an operation is called, where it is one. */
  describeOperation(name: string): { readonly method: string; readonly route: string } | undefined;
}

/** How each metric of the catalogue is read: nothing is computed before somebody asks. */
export function createReaders(sources: Sources): Readers {
  const { requests, applications } = sources;
  return {
    rollcall_build_info: () => [one(1, { version: sources.version, node: process.version })],

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
  };
}

function one(value: number, labels: Sample["labels"] = {}): Sample {
  return { value, labels };
}

function* byLabel(label: string, counts: ReadonlyMap<string, number>): Iterable<Sample> {
  for (const [name, count] of counts) yield one(count, { [label]: name });
}
