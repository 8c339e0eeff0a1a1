import { setTimeout as sleep } from "node:timers/promises";
import {
  CompiledQuery,
  type DatabaseConnection,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  sql,
} from "kysely";
import { ApiError } from "../../lib/errors.ts";
import { between } from "../../lib/random.ts";
import type { Database, DatabaseOptions, Queries, SignalListener } from "../database.ts";
import { postgresDialect } from "../dialect.ts";
import type { EngineTransaction, EngineWrite } from "../outer-transaction.ts";
import { runPrepared, type Statement } from "../prepared.ts";
import { createRowCompiler, type ToRow } from "../row-of-values.ts";
import type { Tables } from "../tables.ts";
import { createTransactions } from "../transactions.ts";
import { createPostgresActivity, PostgresConnection, refuseStreaming } from "./connection.ts";
import { createWriteGroups } from "./groups.ts";
import { createLookups } from "./lookups.ts";
import { createPostgresPool } from "./pool.ts";
import { PostgresSession, type SessionOptions } from "./session.ts";

const channel = "rollcall_events";
/** The interval at which a listening connection is checked, because it would fail silently. */
const pingMs = 10_000;
const retryMsMin = 100;
const retryMsMax = 10_000;

async function sendSignal(text: string, queries: Queries): Promise<void> {
  await sql`select pg_notify(${channel}, ${text})`.execute(queries);
}

/**
 * Listens over a separate connection, outside of any transaction, because an open one would block the notification
 * queue of the server. A connection that has broken, or has served long enough, is replaced.
 *
 * @returns a function that stops listening
 */
function listenToSignals(url: string, options: SessionOptions, listener: SignalListener): () => void {
  let session: PostgresSession | undefined;
  let isStopped = false;
  let retryMs = retryMsMin;
  const pinging = setInterval(ping, pingMs).unref();

  function connect(): void {
    const opened: PostgresSession = new PostgresSession(url, options, {
      onNotification: (text) => {
        if (!isStopped) listener.onSignal(text);
      },
      onEnd: () => {
        if (opened === session) void connectLater();
      },
    });
    session = opened;
    opened.run(`listen ${channel}`, []).then(
      () => {
        retryMs = retryMsMin;
        if (!isStopped) listener.onBegin();
      },
      () => opened.close(), // a standby, for example, refuses to listen
    );
  }

  async function connectLater(): Promise<void> {
    if (isStopped) return;
    const ms = between(retryMs / 2, retryMs);
    retryMs = Math.min(2 * retryMs, retryMsMax);
    await sleep(ms, undefined, { ref: false });
    if (!isStopped) connect();
  }

  function ping(): void {
    if (session === undefined || session.isBroken) return;
    if (session.isRetired) session.close();
    else session.run("select 1", []).catch(() => {}); // its failure is noticed
  }

  connect();
  return () => {
    isStopped = true;
    clearInterval(pinging);
    session?.close();
  };
}

const shareOfOuterTransactions = 0.7;
const findCitus = "select 1 from pg_extension where extname = 'citus'";

/**
 * Opens PostgreSQL. Statements outside transactions are pipelined over shared connections; each transaction has a
 * reserved one.
 */
export function openPostgres(url: string, options: DatabaseOptions): Database {
  const pool = createPostgresPool(url, options);
  const activity = createPostgresActivity(options);
  const connect = () => new PostgresConnection(pool, options, activity);
  const kysely = kyselyOver(() => connectionOfJoint() ?? connect());
  const readRows = createRowReader(connect);
  const lookups = createLookups({
    single: readRows,
    batched: (statement, values, calls) => connect().executeAsArrays(CompiledQuery.raw(statement, values), calls),
  });
  const writing = new Set<Promise<unknown>>();
  let isClosed = false;

  function untilWritten<T>(written: Promise<T>): Promise<T> {
    writing.add(written);
    const forget = () => void writing.delete(written);
    written.then(forget, forget);
    return written;
  }

  const write: EngineWrite = (work) => {
    if (isClosed) return Promise.reject(new ApiError("ServiceUnavailable"));
    return untilWritten(runTransaction(kysely, work));
  };
  const isWithoutCitus = createCitusProbe(connect);
  const inGroups = createWriteGroups({
    ungrouped: write,
    connect,
    takesArrays: isWithoutCitus,
    queriesOver: (connection) => kyselyOver(() => connection),
  });
  // An outer transaction may hold its connection for long; some connections are reserved for short statements.
  const nestedMax = Math.max(1, Math.floor(options.connectionsMax * shareOfOuterTransactions));
  const transactions = createTransactions(write, options.timeoutMs, {
    openMax: nestedMax,
    writeInGroup: (work, applicationId) => untilWritten(inGroups(work, applicationId)),
  });

  runPrepared(kysely, {
    lookUp: (lookup, values) => (transactions.queries() === undefined ? lookups(lookup, values) : undefined),
    run: (statement, values) => (transactions.queries() === undefined ? readRows(statement, values) : undefined),
  });

  /** Reads inside an outer transaction use its connection, so that they see its writes. */
  function connectionOfJoint(): DatabaseConnection | undefined {
    const queries = transactions.queries();
    if (queries === undefined) return undefined;
    return {
      executeQuery: <R>(query: CompiledQuery) =>
        queries.executeQuery<R>(query).catch((error) => {
          transactions.lose(error); // a failed read has no savepoint to return to
          throw error;
        }),
      streamQuery: refuseStreaming,
    };
  }

  return {
    dialect: postgresDialect,
    reads: kysely,
    write: transactions.write,
    nestTransactions: transactions.nestTransactions,
    outsideTransaction: transactions.outsideTransaction,
    afterCommit: transactions.afterCommit,
    hasPendingEffects: transactions.hasPendingEffects,

    hasForeignCommits: () => true,
    onCommit: (listener) => void activity.commitListeners.push(listener),
    foreignMark: () => undefined,
    async signal(text) {
      await sendSignal(text, kysely);
    },
    ...(options.isPooled !== true && { listen: (listener) => listenToSignals(url, options, listener) }),

    statistics: () => ({
      statements: activity.watch.seconds,
      commits: activity.commits,
      waiting: activity.waiting,
      connections: { inUse: activity.inTransaction, max: options.connectionsMax },
      reruns: transactions.reruns,
    }),

    async ping() {
      await sql`select 1`.execute(kysely);
    },

    async close() {
      isClosed = true;
      // Lets transactions finish before the pool closes, but does not wait for a server that never answers.
      await Promise.race([Promise.allSettled(writing), sleep(options.timeoutMs, undefined, { ref: false })]);
      await pool.close();
    },
  };
}

/** Returns a function that runs a statement and reads its rows as objects. */
function createRowReader(connect: () => PostgresConnection) {
  const rowCompilers = new WeakMap<Statement, (columns: readonly string[]) => ToRow>();
  return async (statement: Statement, values: unknown[]): Promise<unknown[]> => {
    const { columns, rows } = await connect().executeAsArrays(CompiledQuery.raw(statement.sql, values));
    const compile = rowCompilers.getOrInsertComputed(statement, () => createRowCompiler());
    return rows.map(compile(columns));
  };
}

async function runTransaction<T>(kysely: Queries, work: (transaction: EngineTransaction) => Promise<T>): Promise<T> {
  const effects: (() => void)[] = [];
  const result = await kysely.transaction().execute((queries) => {
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
  });
  for (const effect of effects) effect();
  return result;
}

/** Returns a function that is true once a query has shown that this is not Citus; it starts the query when needed. */
function createCitusProbe(connect: () => PostgresConnection): () => boolean {
  let isCitus: boolean | undefined;
  let isAsking = false;

  async function ask(): Promise<void> {
    if (isAsking) return;
    isAsking = true;
    try {
      const { rows } = await connect().executeQuery(CompiledQuery.raw(findCitus));
      isCitus = rows.length > 0;
    } catch {
      isAsking = false; // the database cannot be used now
    }
  }

  return () => {
    if (isCitus === undefined) void ask();
    return isCitus === false;
  };
}

/** @param choose returns the connection of each statement */
function kyselyOver(choose: () => DatabaseConnection): Queries {
  return new Kysely<Tables>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createQueryCompiler: () => new PostgresQueryCompiler(),
      createIntrospector: (db) => new PostgresIntrospector(db),
      createDriver: () => ({
        init: async () => {},
        acquireConnection: async () => choose(),
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
}
