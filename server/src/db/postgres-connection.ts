import { setTimeout as sleep } from "node:timers/promises";
import type { CompiledQuery, DatabaseConnection, QueryResult } from "kysely";
import type postgres from "postgres";
import { ApiError } from "../errors.ts";
import type { DatabaseOptions } from "./database.ts";
import { isLost, isOutdatedConnection, OutcomeUnknown, translateDatabaseError } from "./dialect.ts";
import type { PostgresActivity } from "./postgres-activity.ts";
import type { PostgresPool, Sql } from "./postgres-pool.ts";

type Client = Pick<Sql, "unsafe">;
type ParameterOrJSON = postgres.ParameterOrJSON<never>;

type ConnectionSettings = Pick<DatabaseOptions, "timeoutMs" | "isPooled">;

/** Others of the pool break in the same moment; one that is asked after it is one that is there. */
const readAgainMs = 20;

/** Statements on whatever connection of the pool is free, until `begin`; from there to `end` on one of its own. */
export class PostgresConnection implements DatabaseConnection {
  readonly #pool: PostgresPool;
  readonly #settings: ConnectionSettings;
  readonly #activity: PostgresActivity;
  #sql: Sql;
  #isReleased = false;
  #isEnded = false;
  #isClosed = false;
  #reserved: postgres.ReservedSql<{ bigint: number }> | undefined;
  #endWatch = () => {};
  /** Travels with the first statement, to save a round trip; every statement of the transaction waits for it. */
  #begun: Promise<unknown> = Promise.resolve();

  constructor(pool: PostgresPool, settings: ConnectionSettings, activity: PostgresActivity) {
    this.#pool = pool;
    this.#sql = pool.current();
    this.#settings = settings;
    this.#activity = activity;
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const { watch } = this.#activity;
    const startedAt = performance.now();
    try {
      const result = await this.#runAgainIfLost<R>(query);
      watch.ended(query.sql, startedAt, result.rows.length);
      return result;
    } catch (error) {
      watch.ended(query.sql, startedAt, 0, error);
      throw error;
    }
  }

  async #runAgainIfLost<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    if (this.#isReleased) throw new ApiError("ServiceUnavailable"); // a transaction that has been given up
    try {
      return await this.#run(query);
    } catch (error) {
      // What only reads can be read again; a transaction can be begun anew, by whoever has begun it.
      if (this.#reserved !== undefined || !isLost(error)) throw this.#translate(error);
    }
    await sleep(readAgainMs);
    this.#sql = this.#pool.current();
    return this.#run<R>(query).catch((error) => {
      throw this.#translate(error);
    });
  }

  async #run<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    this.#requireOpen();
    const client: Client = this.#reserved ?? this.#sql;
    const values = parameters as ParameterOrJSON[]; // Tables has no column of any other type
    const query = client.unsafe<R[] & postgres.MaybeRow[]>(sql, values, { prepare: true });
    // In a transaction the server's statement_timeout is bound enough; outside, a statement may also wait for its turn.
    const running = this.#reserved === undefined ? within(this.#settings.timeoutMs, query) : query;
    const [rows] = await Promise.all([running, this.#begun]);
    return { rows, numAffectedRows: BigInt(rows.count ?? 0) };
  }

  streamQuery = refuseStreaming;

  async begin(): Promise<void> {
    const { timeoutMs, isPooled } = this.#settings;
    this.#activity.waiting += 1;
    try {
      const reserving = this.#sql.reserve();
      // What comes too late is given back, or has failed and been answered already.
      const giveBack = () => reserving.then((late) => late.release()).catch(() => {});
      this.#reserved = await within(timeoutMs, reserving, giveBack);
      const options = {
        prepare: false,
        /** Of the library, not in its types: it tells which connection a statement goes over. */
        onexecute: ({ id }: { readonly id: number }): true => {
          this.#endWatch = this.#pool.watch(id, () => {
            this.#isClosed = true;
          });
          return true; // the next statement need not wait for this one
        },
      };
      const begin = isPooled ? `begin; set local statement_timeout = ${timeoutMs}` : "begin";
      this.#begun = this.#reserved.unsafe(begin, [], options);
      this.#begun.catch(() => {}); // the first statement reports it
      this.#activity.inTransaction += 1;
    } catch (error) {
      throw this.#translate(error);
    } finally {
      this.#activity.waiting -= 1;
    }
  }

  async end(statement: "commit" | "rollback"): Promise<void> {
    if (this.#isEnded) return; // a commit that has failed has left nothing to undo
    if (this.#isClosed && statement === "rollback") return; // nor has a connection that is gone
    let command: string | undefined;
    let isSent = false;
    const startedAt = performance.now();
    try {
      this.#requireOpen();
      this.#isEnded = true;
      isSent = true;
      const [ended] = await Promise.all([this.#reserved?.unsafe(statement), this.#begun]);
      command = ended?.command;
    } catch (error) {
      if (!isLost(error)) throw this.#translate(error);
      if (statement === "rollback") return; // why it was to be undone is what its caller has to know
      throw this.#translate(isSent ? new OutcomeUnknown(error) : error);
    }
    if (statement === "commit" && command !== "COMMIT") {
      // PostgreSQL reports no error: to it, who commits after a statement has failed wants to undo.
      throw new Error("A statement of the transaction has failed, and nothing of it was kept");
    }
    if (statement === "commit") this.#noteCommit(startedAt);
  }

  release(): void {
    this.#isReleased = this.#reserved !== undefined;
    if (this.#reserved !== undefined) this.#activity.inTransaction -= 1;
    this.#endWatch();
    // One that has closed is back in the pool already, and may be somebody else's.
    if (!this.#isClosed) this.#reserved?.release();
    this.#reserved = undefined;
  }

  #noteCommit(startedAt: number): void {
    const { watch, commits } = this.#activity;
    watch.ended("commit", startedAt, 0);
    commits.sizes.observe(1);
    commits.seconds.observe((performance.now() - startedAt) / 1_000);
  }

  /** Nothing may be sent over a connection that has closed in the midst of a transaction: see `PostgresPool.watch`. */
  #requireOpen(): void {
    if (!this.#isClosed) return;
    throw Object.assign(new Error("The connection to the database has closed"), { code: "CONNECTION_CLOSED" });
  }

  #translate(error: unknown): unknown {
    if (isOutdatedConnection(error)) this.#pool.renew(this.#sql);
    return translateDatabaseError(error);
  }
}

/** A page is small and in memory at once. */
export function refuseStreaming(): never {
  throw new Error("Streaming is not supported");
}

/** @throws ApiError ServiceUnavailable when it takes longer; `onLate` then cleans up after what comes too late */
async function within<T>(timeoutMs: number, promise: PromiseLike<T>, onLate: () => unknown = () => {}): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    reject(new ApiError("ServiceUnavailable", "The database is too busy. Try again."));
    onLate();
  }, timeoutMs);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
