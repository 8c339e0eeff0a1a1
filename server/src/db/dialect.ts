import { PostgresAdapter, type QueryExecutorProvider, type RawBuilder, sql } from "kysely";
import { ApiError } from "../errors.ts";
import { fieldsOf } from "../lib/fields.ts";
import { liftBounds } from "./postgres-bounds.ts";

/** All differences between the engines that code outside `db/` can see, named so that it never checks the engine. */
export interface Dialect {
  /** Column types and table options for migrations. */
  readonly ddl: {
    /** Text compared by its bytes, which sorts alike on both engines. */
    readonly text: RawBuilder<unknown>;
    readonly integer: RawBuilder<unknown>;
    readonly real: RawBuilder<unknown>;
    readonly bytes: RawBuilder<unknown>;
    /** Stands after the closing parenthesis of `create table`. */
    readonly tableOptions: RawBuilder<unknown>;
  };
  /** Ends a select whose rows must not change before the transaction ends. */
  readonly forShare: RawBuilder<unknown>;
  /** Ends a select of rows that this transaction is going to change. */
  readonly forUpdate: RawBuilder<unknown>;
  /** False if the engine runs one write transaction at a time. */
  readonly hasRowLocks: boolean;
  /** Serializes transactions that pass the same text, from this statement until each ends. */
  takeTurns(text: string): readonly RawBuilder<unknown>[];
  /** Waits until no other process migrates; must run first in the migrating transaction. */
  readonly lockMigrations: readonly RawBuilder<unknown>[];
  /** Reads the size of the database. */
  readonly databaseBytes: RawBuilder<{ readonly bytes: number }>;
}

export const sqliteDialect: Dialect = {
  ddl: {
    text: sql`text`,
    integer: sql`integer`,
    real: sql`real`,
    bytes: sql`blob`,
    // The table is clustered by its primary key: a point read is one search instead of two.
    tableOptions: sql`strict, without rowid`,
  },
  // `begin immediate` already holds the write lock.
  forShare: sql``,
  forUpdate: sql``,
  hasRowLocks: false,
  takeTurns: () => [],
  lockMigrations: [],
  databaseBytes: sql`select page_count * page_size as bytes from pragma_page_count(), pragma_page_size()`,
};

/** Removes the time limits from the rest of the transaction. */
export const unboundedStatement = liftBounds("statement_timeout", "transaction_timeout");

export const postgresDialect: Dialect = {
  ddl: {
    text: sql`text collate "C"`,
    integer: sql`bigint`,
    real: sql`double precision`,
    bytes: sql`bytea`,
    tableOptions: sql``,
  },
  forShare: sql`for share`,
  forUpdate: sql`for update`,
  hasRowLocks: true,
  takeTurns: (text) => [sql`select pg_advisory_xact_lock(hashtextextended(${text}, 0))`],
  // A migration may take long, but must not block others while it waits for a lock itself. The number is arbitrary and
  // used for nothing else.
  lockMigrations: [
    sql.raw(unboundedStatement),
    sql`select pg_advisory_xact_lock(7265111081)`,
    sql`set local lock_timeout = 2000`,
    // Citus changes one shard after the other: it refuses some changes of a table after it has changed another in parallel.
    sql`set local citus.multi_shard_modify_mode = 'sequential'`,
  ],
  databaseBytes: sql`select pg_database_size(current_database()) as bytes`,
};

/** True if a join can refer to preceding tables; PostgreSQL needs that to keep the join order. */
export function hasLateralJoins(queries: QueryExecutorProvider): boolean {
  return queries.getExecutor().adapter instanceof PostgresAdapter;
}

/** Translates an engine's "not now" errors into ServiceUnavailable; returns every other error unchanged. */
export function translateDatabaseError(error: unknown): unknown {
  if (error instanceof ApiError || !isUnavailable(error)) return error;
  return new ApiError("ServiceUnavailable", undefined, { cause: error });
}

/** True if a row violates a unique constraint. */
export function isUniqueViolation(error: unknown): boolean {
  const { code, errcode } = fieldsOf(error);
  return code === "23505" || errcode === 2067 || errcode === 1555; // SQLite: SQLITE_CONSTRAINT_UNIQUE, _PRIMARYKEY
}

/** True if a row could not be deleted because others refer to it, or written because it refers to a missing row. */
export function isForeignKeyViolation(error: unknown): boolean {
  const { code, errcode } = fieldsOf(error);
  return code === "23503" || errcode === 787; // SQLite: SQLITE_CONSTRAINT_FOREIGNKEY
}

/**
 * True if a row could not be written because of one of its values: a wrong type, too long, or against a column
 * constraint.
 */
export function isRefusedValue(error: unknown): boolean {
  const { code, errcode } = fieldsOf(error);
  if (typeof errcode === "number") return sqliteRefusedValue.has(errcode & 0xff);
  return typeof code === "string" && /^(22|23|54)...$/.test(code);
}

/** True if a calculation left the range of a double. SQLite returns infinity instead. */
export function isNumberOverflow(error: unknown): boolean {
  return fieldsOf(error).code === "22003"; // the driver adds it
}

/** True if a transaction lost a conflict with another one and may succeed when it runs again. */
export function isConflict(error: unknown): boolean {
  if (!(error instanceof ApiError) || error.condition !== "ServiceUnavailable") return false;
  const cause = rootOf(error);
  return /^(40001|40P01|55P03)$/.test(codeOf(cause)) || isStalePlan(cause); // serialisation, deadlock, lock time-out
}

/**
 * True if a transaction was rolled back and may succeed when it runs again: it lost a conflict, or its connection broke
 * before the commit was sent.
 */
export function isUndone(error: unknown): boolean {
  const cause = rootOf(error);
  return /^(40001|40P01)$/.test(codeOf(cause)) || isStalePlan(cause) || isLost(cause);
}

/** True if a connection broke, or the server accepts no statements at the moment, or no further connection (53300). */
export function isLost(error: unknown): boolean {
  return /^(08...|53300|57P0[123]|CONNECTION_CLOSED|ECONNRESET|EPIPE)$/.test(codeOf(rootOf(error)));
}

/**
 * True if new connections would work better: a primary that became a standby rejects writes (25006), and statements
 * prepared before a migration no longer fit.
 */
export function isOutdatedConnection(error: unknown): boolean {
  return codeOf(error) === "25006" || isStalePlan(error);
}

/** True if the server has reached its connection limit. */
export function isRefusedConnection(error: unknown): boolean {
  return codeOf(error) === "53300";
}

/** The connection broke between the commit and its response. */
export class OutcomeUnknown extends Error {
  constructor(cause: unknown) {
    super("The connection to the database broke at the commit: it may have been written or not", { cause });
  }
}

/**
 * "Cached plan must not change result type": the driver prepares the statement again, but the transaction cannot
 * continue.
 */
function isStalePlan(error: unknown): boolean {
  return codeOf(error) === "0A000" && fieldsOf(error)["routine"] === "RevalidateCachedQuery";
}

/** Finds the cause of an ApiError. */
function rootOf(error: unknown): unknown {
  return error instanceof ApiError && error.cause !== undefined ? rootOf(error.cause) : error;
}

/** Both drivers add `code`. */
function codeOf(error: unknown): string {
  const { code } = fieldsOf(error);
  return typeof code === "string" ? code : "";
}

/**
 * Another connection holds the lock. Extended codes give the reason: 261 while a process recovers the log, 517 for an
 * outdated snapshot.
 */
export function isSqliteBusy(error: unknown): boolean {
  const { errcode } = fieldsOf(error);
  return typeof errcode === "number" && (errcode & 0xff) === 5;
}

// SQLite result codes: TOOBIG, CONSTRAINT, MISMATCH.
const sqliteRefusedValue = new Set([18, 19, 20]);
// SQLite result codes (https://sqlite.org/rescode.html): BUSY, LOCKED, NOMEM, IOERR, FULL, CANTOPEN.
const sqliteUnavailable = new Set([5, 6, 7, 10, 13, 14]);
// PostgreSQL: connection failures, insufficient resources (including disk full), serialization failures, time-outs,
// shutdown and startup.
const postgresUnavailable = /^(08...|53...|40001|40P01|57P0[1-3]|57014|55P03|25006|25P0[34])$/;
const connectionUnavailable = /^(CONNECT|ECONN|ENOTFOUND|EHOST|ENET|EADDRNOTAVAIL|EPIPE|ETIMEDOUT|EAI_AGAIN|ENOENT)/;

function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, errcode } = fieldsOf(error);
  if (error instanceof OutcomeUnknown || isStalePlan(error)) return true;
  if (code === "ERR_INVALID_STATE") return true; // SQLite, closed at shutdown
  if (code === "ERR_SQLITE_ERROR") return typeof errcode === "number" && sqliteUnavailable.has(errcode & 0xff);
  // PostgreSQL refuses or has closed the connection.
  if (fieldsOf(error)["severity"] === "FATAL") return true;
  return typeof code === "string" && (postgresUnavailable.test(code) || connectionUnavailable.test(code));
}
