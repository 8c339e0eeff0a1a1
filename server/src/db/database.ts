import type { Kysely } from "kysely";
import type { Dialect } from "./dialect.ts";
import type { StatementWatchOptions } from "./statement-watch.ts";
import type { DatabaseStatistics } from "./statistics.ts";
import type { Tables } from "./tables.ts";

/** Runs statements: the pool, or the connection of one transaction. */
export type Queries = Kysely<Tables>;

/** One transaction. */
export interface Transaction {
  readonly queries: Queries;
  /** Runs once the transaction is on disk and before its caller goes on; not at all when it fails. */
  afterCommit(effect: () => void): void;
}

/** Writes that belong together, of several parts. */
export interface Joint {
  /** True when the work is going to be run again, so that nothing of this run counts. */
  readonly isInterrupted: boolean;
  /** How often what came before has been made to stay. */
  readonly commitCount: number;
  /**
   * Runs a part of the work. Where the whole can be split, what must not happen inside a transaction (`apart`) splits it
   * before this part, and the part is run again; elsewhere the whole work is run again.
   *
   * @param isBusy tells of what the part came to, that it may fare better in a transaction of its own
   */
  part<T>(work: () => Promise<T>, isBusy?: (value: T) => boolean): Promise<T>;
  /** Where the whole can be split: what came before is kept, whatever happens to what follows. */
  flush(): Promise<void>;
}

export interface ApartOptions {
  /** It does more than compute, so it must not be done ahead of what comes before it. */
  readonly hasEffect?: boolean;
}

/** The storage of one deployment, the same on SQLite and on PostgreSQL. */
export interface Database {
  readonly dialect: Dialect;

  /** For statements that only read. What was answered before a request arrived is visible to its reads. */
  readonly reads: Queries;

  /**
   * Runs the work in a transaction and resolves when it is on disk. Statements of the work must not wait for anything
   * but this transaction. When the work throws, nothing of it stays and the error is passed on; work of others, with
   * which it may share an fsync, is not touched. May run the work several times, when others were in its way or its
   * connection broke, so it must have no effects but its statements and those of `afterCommit`.
   *
   * @throws ApiError ServiceUnavailable when the database is out of reach, full or locked; and when the connection broke
   * at the commit, so that nobody knows whether it came to pass
   */
  write<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>;

  /**
   * Runs work whose writes belong together: each `write` inside, however deep, becomes a part of one transaction, that
   * begins with the first of them and is on disk when this resolves. Reads inside see what was written. When the work
   * throws nothing of it stays, but for parts that were committed before. May run the work several times, so it must have
   * no other effects (see `afterwards`). Inside another `together` it is a part of that.
   *
   * @param options with `isSplittable` the work is of parts that may be committed one by one, and are when it takes long
   */
  together<T>(work: (joint: Joint) => Promise<T>, options: { readonly isSplittable: boolean }): Promise<T>;

  /**
   * For what must not happen inside a transaction: because it takes long, or has to stay when the transaction is undone.
   * Inside of `together` it is done once, however often the work is run; elsewhere at once.
   *
   * @param key what it is about: the same key is the same thing
   */
  apart<T>(key: string, work: () => Promise<T>, options?: ApartOptions): Promise<T>;

  /** Runs an effect when all that belongs together is on disk, and not at all when it is undone; elsewhere at once. */
  afterwards(effect: () => void): void;

  /** True inside of `together` while there are effects that wait for the commit: what is kept in memory may be outdated. */
  hasUnsettled(): boolean;

  /**
   * True once after another process has committed something. Cheap and exact on SQLite; PostgreSQL cannot tell without
   * a round trip, so there it is always true and nothing read may be kept.
   */
  hasForeignCommits(): boolean;

  statistics(): DatabaseStatistics;

  /** Resolves when the database answers. @throws ApiError ServiceUnavailable */
  ping(): Promise<void>;

  close(): Promise<void>;
}

export interface DatabaseOptions extends Partial<StatementWatchOptions> {
  /** Upper bound of PostgreSQL connections. */
  readonly connectionsMax: number;
  /** How long to wait for a connection or a lock before ServiceUnavailable. */
  readonly timeoutMs: number;
  /** Between us and PostgreSQL stands a pooler that gives each transaction another session (pgbouncer). */
  readonly isPooled?: boolean;
}
