import type { JobStatus } from "../jobs/job.ts";
import type { FreeSpace } from "../storage/free-space.ts";
import type { WarningCode } from "./warning-codes.ts";

/** The number of waiting items in a process, by kind. */
export type Queues = Readonly<
  Record<"passwords" | "pictures" | "transactions" | "background" | "events" | "audit", number>
>;

/**
 * The report of a process, which it writes every ten seconds as JSON of less than 4 kB to `server_processes`. Times are in
 * milliseconds. Processes of other versions read it, so the meaning of a member must not change.
 */
export interface ProcessReport {
  /** The share of one processor since the previous report. */
  readonly cpu: number;
  readonly memoryBytes: number;
  /** The 99th percentile of the delays of the event loop in the last full minute. */
  readonly loopDelayMs: number;
  readonly connections: number;
  /** Requests in flight. */
  readonly requests: number;
  readonly databaseConnections: { readonly inUse: number; readonly max: number };
  readonly queues: Queues;
  /** Statements of the last five minutes per bucket of `durationBounds`. */
  readonly statements: readonly number[];
  /** Refusals by full queues in the last five minutes. */
  readonly refused: number;
  /** Waiting times imposed on sign-ins in the last ten minutes. */
  readonly signInWaits: number;
  /** The fullest disk that this process writes to. */
  readonly disk?: FreeSpace | undefined;
  /** Absent in reports of older versions. */
  readonly jobs?: readonly JobStatus[];
  readonly maintainedAt?: number | undefined;
  /** When this process last lost entries of the audit log; below: lost log lines, failed to write its report. */
  readonly auditLostAt?: number | undefined;
  readonly logLostAt?: number | undefined;
  readonly databaseAwayAt?: number | undefined;
  /** When another machine last called without https. */
  readonly clearAt?: number | undefined;
  readonly certificateEnds?: number | undefined;
  /** Regions whose last call failed within an hour. */
  readonly regionsAway: readonly string[];
  readonly writesMailsToFiles: boolean;
  /** The process accepts other machines, but PUBLIC_URL is not set. */
  readonly lacksPublicUrl?: boolean;
  readonly region?: string;
  /** The fingerprints of the secrets of this process, newest first; below: of the secret with which it seals. */
  readonly secrets?: readonly string[];
  readonly sealsWith?: string | undefined;
  /** How far its clock is ahead of the database's; absent on SQLite, which has no clock. */
  readonly clockAheadMs?: number | undefined;
  /** By warning: since when this process has been a reason for it. */
  readonly since: Readonly<Partial<Record<WarningCode, number>>>;
  /** True after a clean shutdown. */
  readonly hasEnded?: true;
}

/** A process with its last report. */
export interface ReportingProcess {
  readonly id: string;
  readonly machine: string;
  readonly worker: number;
  readonly version: string;
  readonly startedAt: number;
  /** The time of the report by the clock of the database, so that processes are comparable. */
  readonly heardAt: number;
  readonly report: ProcessReport;
}
