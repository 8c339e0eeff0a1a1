import type { Kysely } from "kysely";
import type { Dialect } from "./dialect.ts";
import type { Tables } from "./tables.ts";

/** Runs statements: the pool, or the connection of one transaction. */
export type Queries = Kysely<Tables>;

/** One transaction. */
export interface Transaction {
  readonly queries: Queries;
  /** Runs once the transaction is on disk and before its caller goes on; not at all when it fails. */
  afterCommit(effect: () => void): void;
}

/** The storage of one deployment, the same on SQLite and on PostgreSQL. */
export interface Database {
  readonly dialect: Dialect;

  /** For statements that only read. What was answered before a request arrived is visible to its reads. */
  readonly reads: Queries;

  /**
   * Runs the work in a transaction and resolves when it is on disk. Statements of the work must not wait for anything
   * but this transaction. When the work throws, nothing of it stays and the error is passed on; work of others, with
   * which it may share an fsync, is not touched.
   *
   * @throws ApiError ServiceUnavailable when the database is out of reach, full or locked
   */
  write<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>;

  /**
   * True once after another process has committed something. Cheap and exact on SQLite; PostgreSQL cannot tell without
   * a round trip, so there it is always true and nothing read may be kept.
   */
  hasForeignCommits(): boolean;

  /** Resolves when the database answers. @throws ApiError ServiceUnavailable */
  ping(): Promise<void>;

  close(): Promise<void>;
}

export interface DatabaseOptions {
  /** Upper bound of PostgreSQL connections. */
  readonly connectionsMax: number;
  /** How long to wait for a connection or a lock before ServiceUnavailable. */
  readonly timeoutMs: number;
}
