import { setTimeout as sleep } from "node:timers/promises";
import { type CompiledQuery, sql } from "kysely";
import { ApiError } from "../../lib/errors.ts";
import { between } from "../../lib/random.ts";
import type { Database, DatabaseOptions, Queries, SignalListener } from "../database.ts";
import { postgresDialect } from "../dialect.ts";
import type { EngineTransaction, EngineWrite } from "../outer-transaction.ts";
import { createTransactions } from "../transactions.ts";
import { createWriteGroups } from "./groups.ts";
import { createLookups, readRows } from "./lookups.ts";
import { PostgresPool, type RunStatement } from "./pool.ts";
import { PostgresSession, type SessionOptions } from "./session.ts";
import { createPostgresQueries, executeBy, transact } from "./transaction.ts";

const channel = "rollcall_events";
/** The interval at which a listening connection is checked, because it would fail silently. */
const pingMs = 10_000;
const retryMsMin = 100;
const retryMsMax = 10_000;

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
    opened.run(`listen ${channel}`).then(
      () => {
        retryMs = retryMsMin;
        if (!isStopped) listener.onBegin();
      },
      () => void opened.close(), // a standby, for example, refuses to listen
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
    if (session.isRetired) void session.close();
    else session.run("select 1").catch(() => {}); // its failure is noticed
  }

  connect();
  return () => {
    isStopped = true;
    clearInterval(pinging);
    void session?.close();
  };
}

const shareOfOuterTransactions = 0.7;

/**
 * Opens PostgreSQL. Statements outside transactions are pipelined over shared connections; each transaction has a
 * reserved one.
 */
export function openPostgres(url: string, options: DatabaseOptions): Database {
  const pool = new PostgresPool(url, options);
  const run: RunStatement = (statement, values, given) => pool.run(statement, values, given);
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
    return untilWritten(runTransaction(pool, work));
  };
  const inGroups = createWriteGroups(pool, write);
  // An outer transaction may hold its connection for long; some connections are reserved for short statements.
  const nestedMax = Math.max(1, Math.floor(options.connectionsMax * shareOfOuterTransactions));
  const transactions = createTransactions(write, options.timeoutMs, {
    openMax: nestedMax,
    writeInGroup: (work, applicationId) => untilWritten(inGroups(work, applicationId)),
  });

  // Reads inside an outer transaction use its connection, so that they see its writes.
  const isInside = () => transactions.queries() !== undefined;
  const lookUp = createLookups(run);
  const execute = executeBy(run);
  const executeInside = <R>(queries: Queries, query: CompiledQuery) =>
    queries.executeQuery<R>(query).catch((error) => {
      transactions.lose(error); // a failed read has no savepoint to return to
      throw error;
    });
  const reads = createPostgresQueries(
    <R>(query: CompiledQuery) => {
      const queries = transactions.queries();
      return queries === undefined ? execute<R>(query) : executeInside<R>(queries, query);
    },
    {
      lookUp: (lookup, values) => (isInside() ? undefined : lookUp(lookup, values)),
      run: (statement, values) => (isInside() ? undefined : readRows(run, statement, values)),
    },
  );

  return {
    dialect: postgresDialect,
    reads,
    write: transactions.write,
    nestTransactions: transactions.nestTransactions,
    outsideTransaction: transactions.outsideTransaction,
    afterCommit: transactions.afterCommit,
    hasPendingEffects: transactions.hasPendingEffects,

    hasForeignCommits: () => true,
    onCommit: (listener) => void pool.commitListeners.push(listener),
    foreignMark: () => undefined,
    async signal(text) {
      await sql`select pg_notify(${channel}, ${text})`.execute(reads);
    },
    ...(options.isPooled !== true && { listen: (listener) => listenToSignals(url, options, listener) }),

    statistics: () => ({
      statements: pool.watch.seconds,
      commits: pool.commits,
      waiting: pool.waitingCount,
      connections: { inUse: pool.transactionCount, max: options.connectionsMax },
      reruns: transactions.reruns,
    }),

    async ping() {
      await sql`select 1`.execute(reads);
    },

    async close() {
      isClosed = true;
      // Lets transactions finish before the pool closes, but does not wait for a server that never answers.
      await Promise.race([Promise.allSettled(writing), sleep(options.timeoutMs, undefined, { ref: false })]);
      await pool.close();
    },
  };
}

async function runTransaction<T>(pool: PostgresPool, work: (transaction: EngineTransaction) => Promise<T>): Promise<T> {
  const effects: (() => void)[] = [];
  const result = await transact(pool, (transaction) => {
    const run = async (statement: string) => void (await transaction.run(statement, []));
    return work({
      queries: createPostgresQueries(executeBy((text, values) => transaction.run(text, values))),
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

/** Identifies the server process of a session; client connections have different ones, except behind a pooler. */
const identify = `
  select pid || ' ' || backend_start as id, current_setting('server_encoding') as encoding
  from pg_stat_activity where pid = pg_backend_pid()`;

/**
 * Returns the reason why a server cannot use this database: its encoding, or a pooler in transaction mode that the
 * settings do not mention. Errors of the connection are thrown.
 *
 * @returns a sentence for operators, without a password
 */
export async function findPostgresProblem(url: string, options: SessionOptions): Promise<string | undefined> {
  const sessions = [new PostgresSession(url, options), new PostgresSession(url, options)];
  try {
    const ids: string[][] = [[], []];
    // One statement per session does not reveal a pooler that assigns its connections round-robin.
    for (const index of [0, 1, 0, 0, 1]) {
      const [row] = (await sessions[index]?.run(identify)) ?? [];
      const { id, encoding } = row as { id: string; encoding: string };
      if (encoding !== "UTF8") return encodingProblem(encoding);
      ids[index]?.push(id);
      if (options.isPooled) return undefined;
    }
    const [first = [], second = []] = ids.map((each) => [...new Set(each)]);
    const isPooled = first.length > 1 || second.length > 1 || first[0] === second[0];
    return isPooled ? poolerProblem : undefined;
  } finally {
    for (const session of sessions) void session.close();
  }
}

const poolerProblem =
  "DATABASE_URL leads to a pooler in transaction mode, such as PgBouncer. Set DATABASE_POOLER=transaction, or DATABASE_URL to PostgreSQL's own address.";

function encodingProblem(encoding: string): string {
  return `DATABASE_URL: the encoding of the database is ${encoding}, which cannot store every text. Create another one with \`create database … encoding 'UTF8' template template0\`; \`rollcall backup\` and \`rollcall restore\` move existing data.`;
}
