import type { Histogram } from "../lib/histogram.ts";

/** What the database has been at, since the process began, and is at. */
export interface DatabaseStatistics {
  /** Seconds of each statement, waiting for a connection included. */
  readonly statements: Histogram;
  readonly commits: CommitStatistics;
  /** Transactions that wait to begin. */
  readonly waiting: number;
  readonly connections: { readonly inUse: number; readonly max: number };
  /** Work that was run again because others were in its way, or because it could not be done inside of a transaction. */
  readonly reruns: number;
}

/** Of what was written to disk. */
export interface CommitStatistics {
  /** How many transactions of requests shared one commit. */
  readonly sizes: Histogram;
  readonly seconds: Histogram;
}
