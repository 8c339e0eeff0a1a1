import type { Kysely } from "kysely";
import type { Dialect } from "./dialect.ts";
import type { StatementWatchOptions } from "./statement-watch.ts";
import type { DatabaseStatistics } from "./statistics.ts";
import type { Tables } from "./tables.ts";

/** Runs statements, on the pool or on the connection of a transaction. */
export type Queries = Kysely<Tables>;

export interface Transaction {
  readonly queries: Queries;
  /**
   * Registers an effect that runs once the transaction is on disk, before its caller continues. It does not run if the
   * transaction fails.
   */
  afterCommit(effect: () => void): void;
}

/** A transaction that encloses nested ones. Its work consists of steps. */
export interface OuterTransaction {
  /** True if the work will be retried, so that the results of this run are discarded. */
  readonly isInterrupted: boolean;
  /** How many times preceding steps have been committed. */
  readonly commitCount: number;
  /**
   * Runs a step of the work. If the step calls `outsideTransaction`, a splittable transaction commits the preceding steps
   * and retries this one; another transaction retries all of its work.
   *
   * @param isBusy returns true for a result of a conflict, which a transaction for this step only could avoid
   */
  step<T>(work: () => Promise<T>, isBusy?: (value: T) => boolean): Promise<T>;
  /** Commits the preceding steps of a splittable transaction. */
  flush(): Promise<void>;
}

export interface OutsideOptions {
  /** The work has side effects, so it must not run before the preceding steps are final. */
  readonly hasEffect?: boolean;
}

export interface WriteOptions {
  /**
   * The application of work that adds rows (or replaces one by a single statement) and depends on no rows that such
   * work adds concurrently. It may share its transaction with other work of this kind, and then runs again if one of
   * them fails.
   */
  readonly addsTo?: string;
}

/** The storage of one deployment, with the same behaviour on SQLite and PostgreSQL. */
export interface Database {
  readonly dialect: Dialect;

  /** For read-only statements. Writes that were answered before a request arrived are visible to its reads. */
  readonly reads: Queries;

  /**
   * Runs the work in a transaction and resolves when it is on disk. Statements of the work must not wait for anything
   * but this transaction. If the work throws, the transaction is rolled back and the error is passed on; other
   * transactions that share the fsync are not affected. The work is retryable: it runs again after a conflict or a
   * broken connection, so it must have no side effects but its statements and those of `afterCommit`.
   *
   * @throws ApiError ServiceUnavailable if the database is unreachable, full or locked, and if the connection broke at
   * the commit, so that the outcome is unknown
   */
  write<T>(work: (transaction: Transaction) => Promise<T>, options?: WriteOptions): Promise<T>;

  /**
   * Runs work in an outer transaction, in which each `write` is a nested transaction. It begins with the first write and
   * is on disk when this resolves. Reads inside see its writes. If the work throws, everything is rolled back except the
   * steps that were committed before. The work is retryable, so it must have no other side effects (see `afterCommit`).
   * Calls of `nestTransactions` nest, too.
   *
   * @param options `isSplittable`: the steps may be committed one by one, which happens when the work takes long
   */
  nestTransactions<T>(
    work: (outer: OuterTransaction) => Promise<T>,
    options: { readonly isSplittable: boolean },
  ): Promise<T>;

  /**
   * Runs work that must not run inside a transaction, because it takes long or must survive a rollback. Inside
   * `nestTransactions` it runs once, however often the surrounding work is retried; elsewhere it runs immediately.
   *
   * @param key identifies the work, whose outcome is reused by retries
   */
  outsideTransaction<T>(key: string, work: () => Promise<T>, options?: OutsideOptions): Promise<T>;

  /**
   * Runs an effect after the outer transaction has committed, and not at all if it is rolled back; immediately without
   * an outer transaction.
   */
  afterCommit(effect: () => void): void;

  /** True inside `nestTransactions` while effects wait for the commit: caches in memory may be outdated. */
  hasPendingEffects(): boolean;

  /**
   * True once after another process has committed. Cheap and exact on SQLite; PostgreSQL would need a round trip to
   * find out, so there it is always true and nothing read may be cached.
   */
  hasForeignCommits(): boolean;

  /** Runs a listener after each commit of this process. */
  onCommit(listener: () => void): void;

  /**
   * Changes with each commit of another process, and costs no transaction; undefined on PostgreSQL, which would need a
   * round trip. Unlike `hasForeignCommits` it has no effect on reads.
   */
  foreignMark(): number | undefined;

  /**
   * Sends a string to all processes that listen, as a hint: it may be lost. Does nothing on SQLite, which has
   * `foreignMark`.
   *
   * @throws ApiError ServiceUnavailable; errors of PostgreSQL
   */
  signal(text: string): Promise<void>;

  /**
   * Receives the strings that processes send by `signal`, over a separate connection, until the returned function is
   * called. Undefined where no connection can listen: on SQLite, and behind a transaction-pooling proxy.
   */
  readonly listen?: (listener: SignalListener) => () => void;

  statistics(): DatabaseStatistics;

  /** Resolves if the database answers. @throws ApiError ServiceUnavailable */
  ping(): Promise<void>;

  close(): Promise<void>;
}

export interface SignalListener {
  onSignal(text: string): void;
  /** Runs when a connection begins to listen: signals from before may have been missed. */
  onBegin(): void;
}

export interface DatabaseOptions extends Partial<StatementWatchOptions> {
  /** Upper bound of PostgreSQL connections. */
  readonly connectionsMax: number;
  /** How long to wait for a connection or a lock before failing with ServiceUnavailable. */
  readonly timeoutMs: number;
  /** A transaction-pooling proxy (pgbouncer) stands between this process and PostgreSQL. */
  readonly isPooled?: boolean;
}
