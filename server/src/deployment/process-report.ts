import type { FreeSpace } from "../storage/free-space.ts";
import type { WarningCode } from "./warning-codes.ts";

/** The number of waiting items in a process, by kind. */
export type Queues = Readonly<
  Record<"passwords" | "pictures" | "transactions" | "background" | "events" | "audit", number>
>;

/**
 * The report of a process, every ten seconds, as JSON below 4 kB in `server_processes`. Times are in milliseconds.
 * Processes of other versions read it, so a member keeps its meaning.
 */
export interface ProcessReport {
  /** The share of one processor since the report before. */
  readonly cpu: number;
  readonly memoryBytes: number;
  /** 99 % of the delays of the event loop were at most this long, in the last full minute. */
  readonly loopDelayMs: number;
  readonly connections: number;
  /** In progress. */
  readonly requests: number;
  readonly databaseConnections: { readonly inUse: number; readonly max: number };
  readonly queues: Queues;
  /** Statements of the last five minutes, by `durationBounds`. */
  readonly statements: readonly number[];
  /** Refusals by full queues in the last five minutes. */
  readonly refused: number;
  /** Waiting times imposed on sign-ins in the last ten minutes. */
  readonly signInWaits: number;
  /** The fullest disk that this process writes to. */
  readonly disk?: FreeSpace | undefined;
  readonly maintainedAt?: number | undefined;
  /** When this process last lost entries of the audit log, lost log lines, or could not write its report. */
  readonly auditLostAt?: number | undefined;
  readonly logLostAt?: number | undefined;
  readonly databaseAwayAt?: number | undefined;
  /** When another machine last called without https. */
  readonly clearAt?: number | undefined;
  readonly certificateEnds?: number | undefined;
  /** Regions whose last call failed within an hour. */
  readonly regionsAway: readonly string[];
  readonly writesMailsToFiles: boolean;
  /** It listens for other machines, and does not know the address that clients use. */
  readonly lacksPublicUrl?: boolean;
  readonly region?: string;
  /** The fingerprints of the secrets that this process can open, newest first, and of that with which it seals. */
  readonly secrets?: readonly string[];
  readonly sealsWith?: string | undefined;
  /** How far its clock is ahead of that of the database; absent on SQLite, which has none. */
  readonly clockAheadMs?: number | undefined;
  /** The time since which this process alone is a reason for a warning. */
  readonly since: Readonly<Partial<Record<WarningCode, number>>>;
  /** The process has shut down cleanly. */
  readonly hasEnded?: true;
}

/** A process with its last report. */
export interface ReportingProcess {
  readonly id: string;
  readonly machine: string;
  readonly worker: number;
  readonly version: string;
  readonly startedAt: number;
  /** By the clock of the database, so that the processes are comparable. */
  readonly heardAt: number;
  readonly report: ProcessReport;
}
