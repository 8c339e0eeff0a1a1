import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import {
  type CompiledQuery,
  type DatabaseConnection,
  Kysely,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from "kysely";
import { runInCall } from "../lib/current-call.ts";
import { pauseThread } from "../lib/pause-thread.ts";
import type { Database, DatabaseOptions } from "./database.ts";
import { isSqliteBusy, sqliteDialect, translateDatabaseError } from "./dialect.ts";
import { createGroupCommit } from "./group-commit.ts";
import { createJoints } from "./joint.ts";
import { runDirectly } from "./prepared.ts";
import { createStatementWatch, type StatementWatch } from "./statement-watch.ts";
import type { Tables } from "./tables.ts";

/**
 * Opens the embedded database with two connections: one writes, in groups that share an fsync; one reads, in one read
 * transaction per turn of the event loop, because taking and leaving SQLite's read lock costs more than the read.
 */
export function openSqlite(url: string, options: DatabaseOptions): Database {
  const file = fileURLToPath(url);
  // It holds personal data: nobody else may read it, nor the log files beside it, which take its mode.
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  closeSync(openSync(file, "a", 0o600));
  const writer = connect(file, options);
  const reader = connect(file, options);
  // Pages are read where they lie, not copied: a third off a search that touches many. Only where nothing is written.
  reader.database.exec(`pragma mmap_size = ${mappedBytesMax}`);
  const readTurn = createReadTurn(reader.database);
  const watch = createStatementWatch("sqlite", { slowQueryMs: 0, ...options });
  const group = createGroupCommit(
    writer.database,
    kyselyOver(() => writer, watch),
    {
      timeoutMs: options.timeoutMs,
      afterEach: readTurn.end,
      // It is nobody's in particular.
      onCommit: (startedAt, size) => runInCall(undefined, () => watch.ended("commit", startedAt, size)),
    },
  );
  const joints = createJoints(group.write, options.timeoutMs);
  const reads = kyselyOver(() => {
    if (joints.queries() !== undefined) return writer; // which sees what was written
    readTurn.join();
    return reader;
  }, watch);

  const dataVersion = writer.database.prepare("pragma data_version");
  dataVersion.setReturnArrays(true);
  let versionSeen = readDataVersion(dataVersion);

  return {
    dialect: sqliteDialect,
    reads,
    write: joints.write,
    together: joints.together,
    apart: joints.apart,
    afterwards: joints.afterwards,
    hasUnsettled: joints.hasUnsettled,

    hasForeignCommits() {
      // The writing connection does not count its own commits, so any change is somebody else's.
      const version = readDataVersion(dataVersion);
      if (version === versionSeen) return false;
      versionSeen = version;
      readTurn.end();
      return true;
    },

    statistics: () => ({
      statements: watch.seconds,
      commits: group.commits,
      waiting: group.waitingCount,
      connections: { inUse: group.isRunning ? 1 : 0, max: 1 }, // that reads wait for nobody
      reruns: joints.reruns,
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
      readTurn.end();
      reader.database.close();
      writer.database.close(); // the last connection out writes the log back into the file
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
  /** Empty for a statement that returns no rows. */
  readonly columns: readonly string[];
}

function connect(file: string, options: DatabaseOptions): Connection {
  const database = new DatabaseSync(file, { timeout: options.timeoutMs });
  writeAhead(database, options);
  // FULL: a commit is on disk before it returns. The cache is in KiB when negative.
  database.exec(
    "pragma synchronous = full; pragma foreign_keys = on; pragma cache_size = -16384; pragma temp_store = memory;",
  );
  return { database, statements: new Map() };
}

const lookAgainMs = 10;

/** Of two that begin with the same new file SQLite lets none wait for the other: one of them is refused at once. */
function writeAhead(database: DatabaseSync, { timeoutMs }: DatabaseOptions): void {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    try {
      database.exec("pragma journal_mode = wal");
      return;
    } catch (error) {
      if (!isSqliteBusy(error) || performance.now() > deadline) throw error;
      pauseThread(lookAgainMs);
    }
  }
}

function readDataVersion(statement: StatementSync): number {
  try {
    const row: unknown = statement.get(); // an array, as setReturnArrays asks; the types do not know
    return (row as [number])[0];
  } catch (error) {
    throw translateDatabaseError(error);
  }
}

/** One read transaction for all the reads of one turn of the event loop. */
function createReadTurn(database: DatabaseSync): { join: () => void; end: () => void } {
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

/** @param choose the connection of a statement, asked before each */
function kyselyOver(choose: () => Connection, watch: StatementWatch): Kysely<Tables> {
  const kyselyConnection = new SqliteConnection(choose, watch);
  const kysely = new Kysely<Tables>({
    dialect: {
      createAdapter: () => new UnlockedSqliteAdapter(),
      createQueryCompiler: () => new SqliteQueryCompiler(),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createDriver: () => ({
        init: async () => {},
        acquireConnection: async () => kyselyConnection,
        releaseConnection: async () => {},
        beginTransaction: refuseTransaction,
        commitTransaction: refuseTransaction,
        rollbackTransaction: refuseTransaction,
        destroy: async () => {},
      }),
    },
  });
  runDirectly(kysely, (sql, values) => kyselyConnection.run(sql, values).rows);
  return kysely;
}

/** Kysely would queue the statements of a single connection; ours run to their end at once, so none can overlap. */
class UnlockedSqliteAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true;
  }
}

/** The driver's own objects take longer to make, and longer to read. */
function toObject(columns: readonly string[], values: readonly unknown[]): Record<string, unknown> {
  const row: Record<string, unknown> = {};
  for (let index = 0; index < columns.length; index += 1) row[columns[index] as string] = values[index];
  return row;
}

async function refuseTransaction(): Promise<void> {
  throw new Error("Transactions are begun by Database.write alone");
}

/** Enough for every statement of the code; the bound only stops statements that are built with varying text. */
const statementsMax = 500;

class SqliteConnection implements DatabaseConnection {
  readonly #choose: () => Connection;
  readonly #watch: StatementWatch;

  constructor(choose: () => Connection, watch: StatementWatch) {
    this.#choose = choose;
    this.#watch = watch;
  }

  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    const { rows, changes } = this.run(sql, parameters);
    // R is what Kysely derived from the query
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
    const { statement, columns } = prepareOn(this.#choose(), sql);
    const values = parameters as readonly SQLInputValue[]; // Tables has no column of any other type
    if (columns.length === 0) return { rows: [], changes: statement.run(...values).changes };
    const rows: unknown[] = statement.all(...values); // arrays, as setReturnArrays asks; the types do not know
    return { rows: rows.map((row) => toObject(columns, row as unknown[])) };
  }

  // biome-ignore lint/correctness/useYield: nothing streams from SQLite; a page is small and in memory at once
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error("Streaming is not supported");
  }
}

function prepareOn({ statements, database }: Connection, sql: string): PreparedStatement {
  const known = statements.get(sql);
  if (known !== undefined) return known;
  const statement = database.prepare(sql);
  statement.setReturnArrays(true);
  const prepared = { statement, columns: statement.columns().map(({ name }) => name) };
  if (statements.size >= statementsMax) statements.clear();
  statements.set(sql, prepared);
  return prepared;
}
