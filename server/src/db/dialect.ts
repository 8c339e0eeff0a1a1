import { PostgresAdapter, type QueryExecutorProvider, type RawBuilder, sql } from "kysely";
import { ApiError } from "../errors.ts";
import { liftBounds } from "./postgres-bounds.ts";

/** Every difference between the engines that code outside `db/` can see, as names instead of engine checks. */
export interface Dialect {
  /** Column types and table options for migrations. */
  readonly ddl: {
    /** Text compared by its bytes, the same order on both engines. */
    readonly text: RawBuilder<unknown>;
    readonly integer: RawBuilder<unknown>;
    readonly real: RawBuilder<unknown>;
    readonly bytes: RawBuilder<unknown>;
    /** Stands after the closing parenthesis of `create table`. */
    readonly tableOptions: RawBuilder<unknown>;
  };
  /** Stands at the end of a select whose row must not change before the transaction ends. */
  readonly forShare: RawBuilder<unknown>;
  /** The same for rows that this transaction is going to change. */
  readonly forUpdate: RawBuilder<unknown>;
  /** False where one transaction writes at a time anyway. */
  readonly hasRowLocks: boolean;
  /** Lets transactions that name the same text run one after the other, from here to their ends. */
  takeTurns(text: string): readonly RawBuilder<unknown>[];
  /** Wait until no other process migrates; to be run first in the migrating transaction. */
  readonly lockMigrations: readonly RawBuilder<unknown>[];
}

export const sqliteDialect: Dialect = {
  ddl: {
    text: sql`text`,
    integer: sql`integer`,
    real: sql`real`,
    bytes: sql`blob`,
    // Rows lie in their primary key: one search per point read instead of two.
    tableOptions: sql`strict, without rowid`,
  },
  // `begin immediate` has taken the write lock already.
  forShare: sql``,
  forUpdate: sql``,
  hasRowLocks: false,
  takeTurns: () => [],
  lockMigrations: [],
};

/** What follows in the transaction takes the time it takes. */
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
  // A migration takes the time it takes, but does not keep others waiting for what it waits for itself. The number is
  // arbitrary, and used for nothing else.
  lockMigrations: [
    sql.raw(unboundedStatement),
    sql`select pg_advisory_xact_lock(7265111081)`,
    sql`set local lock_timeout = 2000`,
  ],
};

/** Whether a join can refer to what stands before it, and has to where the order of a join is to be kept. */
export function hasLateralJoins(queries: QueryExecutorProvider): boolean {
  return queries.getExecutor().adapter instanceof PostgresAdapter;
}

/** Turns an engine's "not now" into ServiceUnavailable; every other error stays as it is. */
export function translateDatabaseError(error: unknown): unknown {
  if (error instanceof ApiError || !isUnavailable(error)) return error;
  return new ApiError("ServiceUnavailable", undefined, { cause: error });
}

/** True when a row could not be written because it would not be unique. */
export function isUniqueViolation(error: unknown): boolean {
  const { code, errcode } = error as { code?: unknown; errcode?: unknown }; // both drivers add fields of their own
  return code === "23505" || errcode === 2067 || errcode === 1555; // SQLite: SQLITE_CONSTRAINT_UNIQUE, _PRIMARYKEY
}

/** True when a row could not be deleted because others refer to it, or written because what it refers to is not there. */
export function isForeignKeyViolation(error: unknown): boolean {
  const { code, errcode } = error as { code?: unknown; errcode?: unknown }; // both drivers add fields of their own
  return code === "23503" || errcode === 787; // SQLite: SQLITE_CONSTRAINT_FOREIGNKEY
}

/** True when a calculation left the range of a double. SQLite makes it infinite instead. */
export function isNumberOverflow(error: unknown): boolean {
  return (error as { code?: unknown }).code === "22003"; // the driver adds it
}

/** True when others were in the way, so that it may be done when it is begun anew. */
export function isConflict(error: unknown): boolean {
  if (!(error instanceof ApiError) || error.condition !== "ServiceUnavailable") return false;
  const cause = rootOf(error);
  return /^(40001|40P01|55P03)$/.test(codeOf(cause)) || isStalePlan(cause); // serialisation, deadlock, lock time-out
}

/**
 * True when nothing of a transaction was kept and it may fare better when it is begun anew: others were in its way, or its
 * connection broke before the commit was sent.
 */
export function isUndone(error: unknown): boolean {
  const cause = rootOf(error);
  return /^(40001|40P01)$/.test(codeOf(cause)) || isStalePlan(cause) || isLost(cause);
}

/** True when a connection broke, or leads to a server that takes no statements now, or no further connection (53300). */
export function isLost(error: unknown): boolean {
  return /^(08...|53300|57P0[123]|CONNECTION_CLOSED|ECONNRESET|EPIPE)$/.test(codeOf(rootOf(error)));
}

/**
 * True when new connections would do better: a standby that was a primary answers that nothing can be written (25006), and
 * statements that were prepared before a migration do not fit any more.
 */
export function isOutdatedConnection(error: unknown): boolean {
  return codeOf(error) === "25006" || isStalePlan(error);
}

/** True when the server has as many connections as it takes. */
export function isRefusedConnection(error: unknown): boolean {
  return codeOf(error) === "53300";
}

/** The connection broke between the commit and its answer. */
export class OutcomeUnknown extends Error {
  constructor(cause: unknown) {
    super("The connection to the database broke at the commit: it may have been written or not", { cause });
  }
}

/** "Cached plan must not change result type": the library forgets the statement, but a transaction cannot go on. */
function isStalePlan(error: unknown): boolean {
  return codeOf(error) === "0A000" && (error as { routine?: unknown }).routine === "RevalidateCachedQuery";
}

/** What an ApiError has been made of. */
function rootOf(error: unknown): unknown {
  return error instanceof ApiError && error.cause !== undefined ? rootOf(error.cause) : error;
}

/** Both drivers add it. */
function codeOf(error: unknown): string {
  const { code } = Object(error) as { code?: unknown };
  return typeof code === "string" ? code : "";
}

/** Another connection has what this one needs. SQLite tells in further bits why: 261 while one recovers the log, 517 for a snapshot. */
export function isSqliteBusy(error: unknown): boolean {
  const { errcode } = Object(error) as { errcode?: unknown };
  return typeof errcode === "number" && (errcode & 0xff) === 5;
}

// SQLite result codes (https://sqlite.org/rescode.html): BUSY, LOCKED, NOMEM, IOERR, FULL, CANTOPEN.
const sqliteUnavailable = new Set([5, 6, 7, 10, 13, 14]);
// PostgreSQL: connection trouble, out of resources (disk full among them), serialisation, time-outs, shutting down
// or starting.
const postgresUnavailable = /^(08...|53...|40001|40P01|57P0[1-3]|57014|55P03|25006|25P0[34])$/;
const connectionUnavailable = /^(CONNECT|ECONN|ENOTFOUND|EHOST|ENET|EADDRNOTAVAIL|EPIPE|ETIMEDOUT|EAI_AGAIN|ENOENT)/;

function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, errcode } = error as { code?: unknown; errcode?: unknown }; // both drivers add fields of their own
  if (error instanceof OutcomeUnknown || isStalePlan(error)) return true;
  if (code === "ERR_INVALID_STATE") return true; // SQLite, closed by the end of the process
  if (code === "ERR_SQLITE_ERROR") return typeof errcode === "number" && sqliteUnavailable.has(errcode & 0xff);
  if ((error as { severity?: unknown }).severity === "FATAL") return true; // PostgreSQL lets nobody in, or has closed the connection
  return typeof code === "string" && (postgresUnavailable.test(code) || connectionUnavailable.test(code));
}
