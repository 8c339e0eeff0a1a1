import { durationBounds, Histogram } from "../lib/histogram.ts";

/** Statistics of the database since the process started. */
export interface DatabaseStatistics {
  /** Seconds of each statement, including the wait for a connection. */
  readonly statements: Histogram;
  readonly commits: CommitStatistics;
  /** Transactions that wait to begin. */
  readonly waiting: number;
  readonly connections: { readonly inUse: number; readonly max: number };
  /** Runs that were repeated after a conflict, or because work had to run outside of the transaction. */
  readonly reruns: number;
}

/** Statistics of commits. */
export interface CommitStatistics {
  /** The number of request transactions that shared a commit. */
  readonly sizes: Histogram;
  readonly seconds: Histogram;
}

const sizeBounds = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

export function createCommitStatistics(): CommitStatistics {
  return { sizes: new Histogram(sizeBounds), seconds: new Histogram(durationBounds) };
}
