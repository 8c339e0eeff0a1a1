import {
  CompiledQuery,
  type DatabaseConnection,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
  sql,
} from "kysely";
import postgres from "postgres";
import { ApiError } from "../errors.ts";
import { durationBounds, Histogram } from "../lib/histogram.ts";
import type { Database, DatabaseOptions } from "./database.ts";
import { postgresDialect, translateDatabaseError } from "./dialect.ts";
import { createJoints } from "./joint.ts";
import type { EngineWrite } from "./joint-work.ts";
import { createStatementWatch, type StatementWatch } from "./statement-watch.ts";
import type { CommitStatistics } from "./statistics.ts";
import type { Tables } from "./tables.ts";

const shareOfJoints = 0.7;

type Client = Pick<postgres.Sql<{ bigint: number }>, "unsafe">;
type ParameterOrJSON = postgres.ParameterOrJSON<never>;

/** Opens PostgreSQL. Statements outside transactions are pipelined over shared connections; a transaction has its own. */
export function openPostgres(url: string, options: DatabaseOptions): Database {
  const pool = postgres(url, {
    max: options.connectionsMax,
    connect_timeout: options.timeoutMs / 1000,
    backoff: () => 0.2, // seconds: a database that is back is in use again at once
    connection: { application_name: "rollcall", statement_timeout: options.timeoutMs },
    types: {
      // All our bigints are counts and milliseconds, far below 2^53.
      bigint: { to: 20, from: [20], serialize: String, parse: Number },
    },
    onnotice: () => {},
  });
  const watch = createStatementWatch("postgresql", { slowQueryMs: 0, ...options });
  const commits = { sizes: new Histogram([1]), seconds: new Histogram(durationBounds) };
  const activity: Activity = { watch, commits, waiting: 0, inTransaction: 0 };
  const kysely = new Kysely<Tables>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createQueryCompiler: () => new PostgresQueryCompiler(),
      createIntrospector: (db) => new PostgresIntrospector(db),
      createDriver: () => ({
        init: async () => {},
        acquireConnection: async () => connectionOfJoint() ?? new PostgresConnection(pool, options.timeoutMs, activity),
        beginTransaction: async (connection: PostgresConnection) => connection.begin(),
        commitTransaction: async (connection: PostgresConnection) => connection.end("commit"),
        rollbackTransaction: async (connection: PostgresConnection) => connection.end("rollback"),
        releaseConnection: async (connection) => {
          if (connection instanceof PostgresConnection) connection.release();
        },
        destroy: async () => {},
      }),
    },
  });

  const writing = new Set<Promise<unknown>>();
  let isClosed = false;

  const write: EngineWrite = (work) => {
    if (isClosed) return Promise.reject(new ApiError("ServiceUnavailable"));
    const effects: (() => void)[] = [];
    const written = kysely
      .transaction()
      .execute((queries) => {
        const run = async (statement: string) => void (await queries.executeQuery(CompiledQuery.raw(statement)));
        return work({
          queries,
          afterCommit: (effect) => void effects.push(effect),
          savepoint: () => run("savepoint part"),
          release: () => run("release part"),
          async rollback() {
            await run("rollback to part");
            await run("release part");
          },
          waitAtMost: (ms) => run(`set local lock_timeout = ${ms}`),
        });
      })
      .then((result) => {
        for (const effect of effects) effect();
        return result;
      });
    writing.add(written);
    const forget = () => void writing.delete(written);
    written.then(forget, forget);
    return written;
  };
  // Each has a connection to itself, perhaps for long; some are left to those who need one for a moment.
  const jointsMax = Math.max(1, Math.floor(options.connectionsMax * shareOfJoints));
  const joints = createJoints(write, options.timeoutMs, jointsMax);

  /** What is read inside of a transaction goes over its connection, and sees what it has written. */
  function connectionOfJoint(): DatabaseConnection | undefined {
    const queries = joints.queries();
    if (queries === undefined) return undefined;
    return {
      executeQuery: <R>(query: CompiledQuery) =>
        queries.executeQuery<R>(query).catch((error) => {
          joints.lose(error); // there is no savepoint before what only reads
          throw error;
        }),
      streamQuery: refuseStreaming,
    };
  }

  return {
    dialect: postgresDialect,
    reads: kysely,
    write: joints.write,
    together: joints.together,
    apart: joints.apart,
    afterwards: joints.afterwards,
    hasUnsettled: joints.hasUnsettled,

    hasForeignCommits: () => true,

    statistics: () => ({
      statements: watch.seconds,
      commits,
      waiting: activity.waiting,
      connections: { inUse: activity.inTransaction, max: options.connectionsMax },
      reruns: joints.reruns,
    }),

    async ping() {
      await sql`select 1`.execute(kysely);
    },

    async close() {
      isClosed = true;
      await Promise.allSettled(writing); // the pool would cut them off
      await pool.end({ timeout: options.timeoutMs / 1000 });
    },
  };
}

/** What all connections are at. */
interface Activity {
  readonly watch: StatementWatch;
  readonly commits: CommitStatistics;
  /** Transactions that wait for a connection. */
  waiting: number;
  inTransaction: number;
}

/** A page is small and in memory at once. */
function refuseStreaming(): never {
  throw new Error("Streaming is not supported");
}

class PostgresConnection implements DatabaseConnection {
  readonly #pool: postgres.Sql<{ bigint: number }>;
  readonly #timeoutMs: number;
  readonly #activity: Activity;
  #isReleased = false;
  #reserved: postgres.ReservedSql<{ bigint: number }> | undefined;
  /** Travels with the first statement, to save a round trip; every statement of the transaction waits for it. */
  #begun: Promise<unknown> = Promise.resolve();

  constructor(pool: postgres.Sql<{ bigint: number }>, timeoutMs: number, activity: Activity) {
    this.#pool = pool;
    this.#timeoutMs = timeoutMs;
    this.#activity = activity;
  }

  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    if (this.#isReleased) throw new ApiError("ServiceUnavailable"); // a transaction that has been given up
    const client: Client = this.#reserved ?? this.#pool;
    const values = parameters as ParameterOrJSON[]; // Tables has no column of any other type
    const { watch } = this.#activity;
    const startedAt = performance.now();
    try {
      const query = client.unsafe<R[] & postgres.MaybeRow[]>(sql, values, { prepare: true });
      // In a transaction the server's statement_timeout is bound enough; outside, a statement may also wait for its turn.
      const running = this.#reserved === undefined ? within(this.#timeoutMs, query) : query;
      const [rows] = await Promise.all([running, this.#begun]);
      watch.ended(sql, startedAt, rows.length);
      return { rows, numAffectedRows: BigInt(rows.count ?? 0) };
    } catch (error) {
      const translated = translateDatabaseError(error);
      watch.ended(sql, startedAt, 0, translated);
      throw translated;
    }
  }

  streamQuery = refuseStreaming;

  async begin(): Promise<void> {
    this.#activity.waiting += 1;
    try {
      const reserving = this.#pool.reserve();
      // What comes too late is given back, or has failed and been answered already.
      const giveBack = () => reserving.then((late) => late.release()).catch(() => {});
      this.#reserved = await within(this.#timeoutMs, reserving, giveBack);
      this.#begun = this.#reserved.unsafe("begin");
      this.#activity.inTransaction += 1;
      this.#begun.catch(() => {}); // the first statement reports it
    } catch (error) {
      throw translateDatabaseError(error);
    } finally {
      this.#activity.waiting -= 1;
    }
  }

  async end(statement: "commit" | "rollback"): Promise<void> {
    const { watch, commits } = this.#activity;
    const startedAt = performance.now();
    let command: string | undefined;
    try {
      const [ended] = await Promise.all([this.#reserved?.unsafe(statement), this.#begun]);
      command = ended?.command;
    } catch (error) {
      throw translateDatabaseError(error);
    }
    if (statement === "commit" && command !== "COMMIT") {
      // PostgreSQL reports no error: to it, who commits after a statement has failed wants to undo.
      throw new Error("A statement of the transaction has failed, and nothing of it was kept");
    }
    if (statement !== "commit") return;
    watch.ended(statement, startedAt, 0);
    commits.sizes.observe(1);
    commits.seconds.observe((performance.now() - startedAt) / 1_000);
  }

  release(): void {
    this.#isReleased = this.#reserved !== undefined;
    if (this.#reserved !== undefined) this.#activity.inTransaction -= 1;
    this.#reserved?.release();
    this.#reserved = undefined;
  }
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
