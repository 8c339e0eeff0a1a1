import {
  type CompiledQuery,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
} from "kysely";
import { ApiError } from "../../lib/errors.ts";
import type { Queries } from "../database.ts";
import { isLost, OutcomeUnknown, translateDatabaseError, unboundedStatement } from "../dialect.ts";
import { createQueries, type ExecuteQuery, type PreparedRunner } from "../prepared.ts";
import { setBoundsOfTransaction } from "./connection-settings.ts";
import type { PostgresPool, RunOptions, RunStatement } from "./pool.ts";
import type { PostgresSession, Rows } from "./session.ts";

/** A transaction on a session that is reserved for it. */
export class PostgresTransaction {
  readonly #pool: PostgresPool;
  readonly #session: PostgresSession;
  /** Sent together with the first statement to save a round trip; every statement of the transaction awaits it. */
  readonly #beginning: Promise<unknown>;
  /** True until the server has committed it or rolled it back. */
  isOpen = true;
  /** True when its session may serve others. */
  isReleased = false;
  /** The number of writes that it commits. */
  writeCount = 1;

  constructor(pool: PostgresPool, session: PostgresSession, settings?: string) {
    const { timeoutMs, isPooled } = pool.options;
    this.#pool = pool;
    this.#session = session;
    const begin = isPooled ? `begin${setBoundsOfTransaction(timeoutMs)}` : "begin";
    this.#beginning = session.run(settings === undefined ? begin : `${begin}; ${settings}`);
    this.#beginning.catch(() => {}); // the first statement reports it
  }

  /** @throws ApiError ServiceUnavailable if the transaction was given up; errors of PostgreSQL */
  run(sql: string, values: readonly unknown[], options: RunOptions = {}): Promise<Rows> {
    const { asArrays = false } = options;
    return this.#pool.watched(sql, options, async () => {
      if (this.isReleased) throw new ApiError("ServiceUnavailable");
      const sentAt = performance.now();
      const isUnbounded = sql === unboundedStatement;
      try {
        const running = this.#session.run(sql, values, { isPrepared: true, asArrays, isUnbounded });
        return (await Promise.all([running, this.#beginning]))[0];
      } catch (error) {
        this.#pool.renewIfOutdated(error, sentAt);
        throw translateDatabaseError(error);
      }
    });
  }

  /** Commits the transaction, or rolls it back; does nothing if it has ended. */
  async end(statement: "commit" | "rollback"): Promise<void> {
    const isLostBefore = this.#session.isBroken;
    if (!this.isOpen || (statement === "rollback" && isLostBefore)) return;
    const { watch, commits, commitListeners } = this.#pool;
    const startedAt = performance.now();
    let command: string | undefined;
    try {
      const [ended] = await Promise.all([this.#session.run(statement), this.#beginning]);
      this.isOpen = false;
      command = ended.command;
    } catch (error) {
      this.#pool.renewIfOutdated(error, startedAt);
      if (!isLost(error)) throw translateDatabaseError(error);
      if (statement === "rollback") return; // the caller needs the error that caused the rollback
      throw translateDatabaseError(isLostBefore ? error : new OutcomeUnknown(error));
    }
    if (statement === "rollback") return;
    // PostgreSQL answers a commit after a failed statement with a rollback, and reports no error.
    if (command !== "COMMIT")
      throw new Error("A statement of the transaction has failed, so the transaction was rolled back");
    for (const listener of commitListeners) listener();
    watch.ended("commit", startedAt, 0);
    commits.sizes.observe(this.writeCount);
    commits.seconds.observe((performance.now() - startedAt) / 1_000);
  }
}

/**
 * Runs work in a transaction, which is committed when the work has succeeded, and rolled back if it throws.
 *
 * @param settings statements that set limits of this transaction, sent together with `begin`
 * @throws what the work throws; ApiError ServiceUnavailable if no session becomes free in time, if the session is lost,
 * and if it is unknown whether the commit succeeded
 */
export async function transact<T>(
  pool: PostgresPool,
  work: (transaction: PostgresTransaction) => Promise<T>,
  settings?: string,
): Promise<T> {
  const session = await pool.reserve();
  const transaction = new PostgresTransaction(pool, session, settings);
  try {
    const result = await work(transaction);
    await transaction.end(transaction.writeCount > 0 ? "commit" : "rollback");
    return result;
  } catch (error) {
    await transaction.end("rollback");
    throw error;
  } finally {
    transaction.isReleased = true;
    pool.release(session, transaction.isOpen);
  }
}

/** Creates queries that run on a connection of PostgreSQL. */
export function createPostgresQueries(execute: ExecuteQuery, runner?: PreparedRunner): Queries {
  return createQueries(engine, execute, runner);
}

const engine = {
  createAdapter: () => new PostgresAdapter(),
  createQueryCompiler: () => new PostgresQueryCompiler(),
  createIntrospector: (queries: Queries) => new PostgresIntrospector(queries),
};

/** Returns a function that runs statements of Kysely. */
export function executeBy(run: RunStatement): ExecuteQuery {
  return async <R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> => {
    const rows = await run(sql, parameters);
    // The compiled query knows its row type.
    return { rows: rows as Iterable<unknown> as R[], numAffectedRows: BigInt(rows.count ?? 0) };
  };
}
