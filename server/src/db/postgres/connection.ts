import { setTimeout as sleep } from "node:timers/promises";
import type { CompiledQuery, DatabaseConnection, QueryResult } from "kysely";
import { type CurrentCall, currentCall } from "../../lib/current-call.ts";
import { ApiError } from "../../lib/errors.ts";
import type { DatabaseOptions } from "../database.ts";
import {
  isLost,
  isOutdatedConnection,
  isUndone,
  OutcomeUnknown,
  translateDatabaseError,
  unboundedStatement,
} from "../dialect.ts";
import { createStatementWatch, type StatementWatch, type StatementWatchOptions } from "../statement-watch.ts";
import { type CommitStatistics, createCommitStatistics } from "../statistics.ts";
import { setBoundsOfTransaction } from "./bounds.ts";
import type { ArrayRows } from "./lookups.ts";
import type { PostgresPool } from "./pool.ts";
import type { PostgresSession, Rows, StatementOptions } from "./session.ts";

/** Connections of the pool often break together; after this pause a retry finds a working one, or a free lock. */
const readAgainMs = 20;

/** Runs statements on any free session of the pool; between `begin` and `end`, on a reserved session. */
export class PostgresConnection implements DatabaseConnection {
  readonly #pool: PostgresPool;
  readonly #settings: Pick<DatabaseOptions, "timeoutMs" | "isPooled">;
  readonly #activity: PostgresActivity;
  #isReleased = false;
  #session: PostgresSession | undefined;
  #isInTransaction = false;
  /** Sent together with the first statement to save a round trip; every statement of the transaction awaits it. */
  #beginning: Promise<unknown> = Promise.resolve();

  constructor(
    pool: PostgresPool,
    settings: Pick<DatabaseOptions, "timeoutMs" | "isPooled">,
    activity: PostgresActivity,
  ) {
    this.#pool = pool;
    this.#settings = settings;
    this.#activity = activity;
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const rows = await this.#runWatched(query);
    // The compiled query knows its row type.
    return { rows: rows as Iterable<unknown> as R[], numAffectedRows: BigInt(rows.count ?? 0) };
  }

  /**
   * Runs a statement whose rows come as arrays of values, which cost the driver less than objects.
   *
   * @param calls the calls that requested it; by default the current one
   */
  async executeAsArrays(query: CompiledQuery, calls?: readonly (CurrentCall | undefined)[]): Promise<ArrayRows> {
    const rows = await this.#runWatched(query, { asArrays: true }, calls);
    const arrays: Iterable<unknown> = rows;
    const { types } = rows.statement as { types: readonly number[] }; // missing in the types of the driver
    return { columns: rows.columns.map(({ name }) => name), rows: arrays as unknown[][], types };
  }

  async #runWatched(
    query: CompiledQuery,
    options?: StatementOptions,
    calls: readonly (CurrentCall | undefined)[] = [currentCall()],
  ): Promise<Rows> {
    const { watch } = this.#activity;
    const startedAt = performance.now();
    try {
      const rows = await this.#runAgainIfUndone(query, options);
      watch.ended(query.sql, startedAt, rows.length, undefined, calls);
      return rows;
    } catch (error) {
      watch.ended(query.sql, startedAt, 0, error, calls);
      throw error;
    }
  }

  async #runAgainIfUndone(query: CompiledQuery, options?: StatementOptions): Promise<Rows> {
    if (this.#isReleased) throw new ApiError("ServiceUnavailable"); // the transaction was given up
    try {
      return await this.#run(query, options);
    } catch (error) {
      // A read can run again here; only the code that started a transaction can retry it.
      if (this.#session !== undefined || !isUndone(error)) throw translateDatabaseError(error);
    }
    await sleep(readAgainMs);
    return this.#run(query, options).catch((error) => {
      throw translateDatabaseError(error);
    });
  }

  async #run({ sql, parameters }: CompiledQuery, given?: StatementOptions): Promise<Rows> {
    const options = { isPrepared: true, isUnbounded: sql === unboundedStatement, ...given };
    const sentAt = performance.now();
    const running = (this.#session ?? this.#pool).run(sql, parameters, options);
    const [rows] = await Promise.all([running, this.#beginning]).catch((error) => {
      // A shared statement does not report its session, so every session opened until now counts as outdated.
      this.#renewIfOutdated(error, this.#session === undefined ? performance.now() : sentAt);
      throw error;
    });
    return rows;
  }

  streamQuery = refuseStreaming;

  /** @param settings statements that set limits of this transaction, sent together with `begin` */
  async begin(settings = ""): Promise<void> {
    const { timeoutMs, isPooled } = this.#settings;
    this.#activity.waiting += 1;
    try {
      this.#session = await this.#pool.reserve();
    } catch (error) {
      throw translateDatabaseError(error);
    } finally {
      this.#activity.waiting -= 1;
    }
    this.#activity.inTransaction += 1;
    this.#isInTransaction = true;
    const begin = isPooled ? `begin${setBoundsOfTransaction(timeoutMs)}` : "begin";
    this.#beginning = this.#session.run(settings === "" ? begin : `${begin}; ${settings}`, []);
    this.#beginning.catch(() => {}); // the first statement reports it
  }

  /** @param writes the number of writes in the transaction */
  async end(statement: "commit" | "rollback", writes = 1): Promise<void> {
    // There is nothing to undo after a failed commit or a lost session.
    if (!this.#isInTransaction || (statement === "rollback" && this.#session?.isBroken)) return;
    const isSent = this.#session?.isBroken === false;
    const startedAt = performance.now();
    let command: string | undefined;
    try {
      const [ended] = await Promise.all([this.#session?.run(statement, []), this.#beginning]);
      this.#isInTransaction = false;
      command = ended?.command;
    } catch (error) {
      this.#renewIfOutdated(error, startedAt);
      if (!isLost(error)) throw translateDatabaseError(error);
      if (statement === "rollback") return; // the caller needs the error that caused the rollback
      throw translateDatabaseError(isSent ? new OutcomeUnknown(error) : error);
    }
    if (statement === "commit" && command !== "COMMIT") {
      // PostgreSQL answers a commit after a failed statement with a rollback, and reports no error.
      throw new Error("A statement of the transaction has failed, so the transaction was rolled back");
    }
    if (statement === "commit") this.#noteCommit(startedAt, writes);
  }

  release(): void {
    if (this.#session === undefined) return;
    this.#isReleased = true;
    this.#activity.inTransaction -= 1;
    this.#pool.release(this.#session, this.#isInTransaction);
    this.#session = undefined;
  }

  #noteCommit(startedAt: number, writes: number): void {
    const { watch, commits, commitListeners } = this.#activity;
    for (const listener of commitListeners) listener();
    watch.ended("commit", startedAt, 0);
    commits.sizes.observe(writes);
    commits.seconds.observe((performance.now() - startedAt) / 1_000);
  }

  #renewIfOutdated(error: unknown, at: number): void {
    if (isOutdatedConnection(error)) this.#pool.renew(at);
  }
}

/** Refuses to stream: nothing does, because pages are small. */
export function refuseStreaming(): never {
  throw new Error("Streaming is not supported");
}

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
