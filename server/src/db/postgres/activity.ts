import { createStatementWatch, type StatementWatch, type StatementWatchOptions } from "../statement-watch.ts";
import { type CommitStatistics, createCommitStatistics } from "../statistics.ts";

/** The current use of all connections. */
export interface PostgresActivity {
  readonly watch: StatementWatch;
  readonly commits: CommitStatistics;
  readonly commitListeners: (() => void)[];
  /** Transactions that wait for a connection. */
  waiting: number;
  inTransaction: number;
}

export function createPostgresActivity(options: Partial<StatementWatchOptions>): PostgresActivity {
  return {
    watch: createStatementWatch("postgresql", { slowQueryMs: 0, ...options }),
    commits: createCommitStatistics(),
    commitListeners: [],
    waiting: 0,
    inTransaction: 0,
  };
}
