import { closeSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { type CompiledQuery, type QueryResult, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from "kysely";
import { compileObject } from "../../lib/compile-object.ts";
import { runInCall } from "../../lib/current-call.ts";
import { makeFolder } from "../../lib/folders.ts";
import { pauseThread } from "../../lib/pause-thread.ts";
import type { Database, DatabaseOptions, Queries } from "../database.ts";
import { isSqliteBusy, sqliteDialect, translateDatabaseError } from "../dialect.ts";
import { createQueries } from "../prepared.ts";
import { createStatementWatch, type StatementWatch } from "../statement-watch.ts";
import { createTransactions } from "../transactions.ts";
import { createGroupCommit } from "./group-commit.ts";

/**
 * Opens the embedded database with two connections: one writes, in groups that share an fsync; one reads, in one read
 * transaction per tick, because acquiring and releasing SQLite's read lock costs more than the read.
 */
export function openSqlite(url: string, options: DatabaseOptions): Database {
  const file = fileURLToPath(url);
  // Only the owner may read the file, because it holds personal data; SQLite gives its log files the same mode.
  makeFolder(dirname(file));
  closeSync(openSync(file, "a", 0o600));
  const writer = connect(file, options);
  const reader = connect(file, options);
  // Reading pages without a copy makes large searches a third faster; safe on a connection that never writes.
  reader.database.exec(`pragma mmap_size = ${mappedBytesMax}`);
  const readTick = createReadTick(reader.database);
  const watch = createStatementWatch("sqlite", { slowQueryMs: 0, ...options });
  const commitListeners: (() => void)[] = [];
  const group = createGroupCommit(
    writer.database,
    queriesOver(() => writer, watch),
    {
      timeoutMs: options.timeoutMs,
      afterEach() {
        readTick.end();
        for (const listener of commitListeners) listener();
      },
      // The commit belongs to no single call.
      onCommit: (startedAt, size) => runInCall(undefined, () => watch.ended("commit", startedAt, size)),
    },
  );
  const transactions = createTransactions(group.write, options.timeoutMs, { writeInGroup: group.writeRepeatable });
  const reads = queriesOver(() => {
    if (transactions.queries() !== undefined) return writer; // sees the uncommitted writes of the outer transaction
    readTick.join();
    return reader;
  }, watch);

  const dataVersion = writer.database.prepare("pragma data_version");
  dataVersion.setReturnArrays(true);
  let versionSeen = readDataVersion(dataVersion);

  return {
    dialect: sqliteDialect,
    reads,
    write: transactions.write,
    nestTransactions: transactions.nestTransactions,
    outsideTransaction: transactions.outsideTransaction,
    afterCommit: transactions.afterCommit,
    hasPendingEffects: transactions.hasPendingEffects,

    hasForeignCommits() {
      // `data_version` ignores commits of the same connection, so any change comes from another process.
      const version = readDataVersion(dataVersion);
      if (version === versionSeen) return false;
      versionSeen = version;
      readTick.end();
      return true;
    },
    onCommit: (listener) => void commitListeners.push(listener),
    foreignMark: () => readDataVersion(dataVersion),
    async signal() {},

    statistics: () => ({
      statements: watch.seconds,
      commits: group.commits,
      waiting: group.waitingCount,
      connections: { inUse: group.isRunning ? 1 : 0, max: 1 }, // reads never wait
      reruns: transactions.reruns,
    }),

    async ping() {
      try {
        reader.database.prepare("select count(*) from sqlite_schema").get();
      } catch (error) {
        throw translateDatabaseError(error);
      }
    },

    async close() {
      await group.drain();
      readTick.end();
      reader.database.close();
      writer.database.close(); // the last connection to close checkpoints the log
    },
  };
}

const mappedBytesMax = 2 ** 30;

interface Connection {
  readonly database: DatabaseSync;
  readonly statements: Map<string, PreparedStatement>;
}

interface PreparedStatement {
  readonly statement: StatementSync;
  /** Undefined for a statement that returns no rows. */
  readonly toRow: ((values: unknown[]) => unknown) | undefined;
}

function connect(file: string, options: DatabaseOptions): Connection {
  const database = new DatabaseSync(file, { timeout: options.timeoutMs });
  writeAhead(database, options);
  // FULL: a commit is on disk before it returns. The cache is in KiB if negative.
  database.exec(
    "pragma synchronous = full; pragma foreign_keys = on; pragma cache_size = -16384; pragma temp_store = memory;",
  );
  return { database, statements: new Map() };
}

const pollMs = 10;

/**
 * Switches to write-ahead logging, with retries: if two processes initialize the same new file, SQLite refuses one of
 * them without waiting.
 */
function writeAhead(database: DatabaseSync, { timeoutMs }: DatabaseOptions): void {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    try {
      database.exec("pragma journal_mode = wal");
      return;
    } catch (error) {
      if (!isSqliteBusy(error) || performance.now() > deadline) throw error;
      pauseThread(pollMs);
    }
  }
}

function readDataVersion(statement: StatementSync): number {
  try {
    const row: unknown = statement.get();
    return (row as [number])[0]; // an array because of setReturnArrays, which the types do not reflect
  } catch (error) {
    throw translateDatabaseError(error);
  }
}

/** One read transaction for all reads of a tick. */
function createReadTick(database: DatabaseSync): { join: () => void; end: () => void } {
  const begin = database.prepare("begin");
  const commit = database.prepare("commit");
  let isOpen = false;
  function end(): void {
    if (!isOpen) return;
    isOpen = false;
    commit.run();
  }
  return {
    join() {
      if (isOpen) return;
      begin.run();
      isOpen = true;
      setImmediate(end);
    },
    end,
  };
}

/** @param choose returns the connection of each statement */
function queriesOver(choose: () => Connection, watch: StatementWatch): Queries {
  const statements = new StatementRunner(choose, watch);
  return createQueries(engine, (query) => statements.execute(query), {
    run: ({ sql }, values) => statements.run(sql, values).rows,
  });
}

/** Kysely would queue the statements of a single connection; these run synchronously, so none can overlap. */
class UnlockedSqliteAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true;
  }
}

const engine = {
  createAdapter: () => new UnlockedSqliteAdapter(),
  createQueryCompiler: () => new SqliteQueryCompiler(),
  createIntrospector: (queries: Queries) => new SqliteIntrospector(queries),
};

/** Enough for every statement of the code; the bound only guards against statements with varying text. */
const statementsMax = 500;

class StatementRunner {
  readonly #choose: () => Connection;
  readonly #watch: StatementWatch;

  constructor(choose: () => Connection, watch: StatementWatch) {
    this.#choose = choose;
    this.#watch = watch;
  }

  async execute<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    const { rows, changes } = this.run(sql, parameters);
    // R is what Kysely derived from the query.
    return changes === undefined ? { rows: rows as R[] } : { rows: [], numAffectedRows: BigInt(changes) };
  }

  run(sql: string, parameters: readonly unknown[]): { rows: unknown[]; changes?: number | bigint } {
    const startedAt = performance.now();
    try {
      const result = this.#run(sql, parameters);
      this.#watch.ended(sql, startedAt, result.rows.length);
      return result;
    } catch (error) {
      const translated = translateDatabaseError(error);
      this.#watch.ended(sql, startedAt, 0, translated);
      throw translated;
    }
  }

  #run(sql: string, parameters: readonly unknown[]): { rows: unknown[]; changes?: number | bigint } {
    const { statement, toRow } = prepareOn(this.#choose(), sql);
    const values = parameters as readonly SQLInputValue[]; // no column has any other type
    if (toRow === undefined) return { rows: [], changes: statement.run(...values).changes };
    const rows: unknown = statement.all(...values);
    // Arrays because of setReturnArrays, which the types do not reflect.
    return { rows: (rows as unknown[][]).map((row) => toRow(row)) };
  }
}

function prepareOn({ statements, database }: Connection, sql: string): PreparedStatement {
  const cached = statements.get(sql);
  if (cached !== undefined) return cached;
  const statement = database.prepare(sql);
  statement.setReturnArrays(true);
  const columns = statement.columns().map(({ name }, from) => ({ name, from }));
  const prepared = { statement, toRow: columns.length === 0 ? undefined : compileObject(columns) };
  if (statements.size >= statementsMax) statements.clear();
  statements.set(sql, prepared);
  return prepared;
}
