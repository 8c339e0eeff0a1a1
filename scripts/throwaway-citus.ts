import postgres from "postgres";
import { startThrowawayPostgres, type ThrowawayPostgres } from "./throwaway-postgres.ts";

/** A Citus cluster for tests. */
export interface ThrowawayCitus {
  /** The address of the coordinator. */
  readonly url: string;
  readonly workers: readonly ThrowawayPostgres[];
  /** The statements since the last call that the coordinator sent to several shards, or that Citus does not support. */
  takeFindings(): CitusFindings;
  stop(): Promise<void>;
}

export interface CitusFindings {
  readonly multiShard: readonly string[];
  readonly refused: readonly string[];
}

const workersCount = 2;
const settings = {
  shared_preload_libraries: "citus",
  "citus.node_conninfo": "sslmode=disable",
  "citus.multi_task_query_log_level": "log",
  log_line_prefix: "\n@%e ",
  wal_level: "logical", // moves a shard while it is written to
  max_prepared_transactions: "200",
};
const notSupported = "0A000"; // a SQLSTATE

/** @param programs the folder of the programs of a PostgreSQL that has the extension citus */
export async function startThrowawayCitus(programs: string): Promise<ThrowawayCitus> {
  const nodes: ThrowawayPostgres[] = [];
  let log = "";
  const stop = async () => {
    await Promise.all(nodes.map((node) => node.stop()));
  };
  try {
    for (let index = 0; index <= workersCount; index += 1) {
      const onLog = (text: string) => {
        if (index === 0) log += text;
      };
      nodes.push(await startThrowawayPostgres({ programs, settings, onLog, isDurable: true }));
    }
    const [coordinator, ...workers] = nodes;
    if (coordinator === undefined) throw new Error("there is no coordinator");
    for (const { url } of nodes) await run(url, "create extension citus");
    const portOf = ({ url }: ThrowawayPostgres) => new URL(url).port;
    await run(coordinator.url, `select citus_set_coordinator_host('127.0.0.1', ${portOf(coordinator)})`);
    for (const worker of workers) await run(coordinator.url, `select citus_add_node('127.0.0.1', ${portOf(worker)})`);
    return {
      url: coordinator.url,
      workers,
      takeFindings() {
        const found = readLog(log);
        log = "";
        return found;
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * An empty database of a running cluster. It has no workers that can be stopped, and no findings.
 *
 * @throws when the database is not empty
 */
export async function useCitus(url: string): Promise<ThrowawayCitus> {
  const tables = await run(url, "select tablename from pg_tables where schemaname = 'public'");
  if (tables.length > 0) throw new Error("CITUS_URL must lead to an empty database");
  return { url, workers: [], takeFindings: () => ({ multiShard: [], refused: [] }), stop: async () => {} };
}

/** Runs one statement over a connection of its own. */
export async function run(url: string, statement: string): Promise<readonly Record<string, unknown>[]> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    return await sql.unsafe(statement);
  } finally {
    await sql.end();
  }
}

/** Each entry is a line with the SQLSTATE and the message, and a later one with its statement. */
function readLog(log: string): CitusFindings {
  const multiShard: string[] = [];
  const refused: string[] = [];
  let kind: string[] | undefined;
  for (const entry of log.split("\n@")) {
    if (entry.includes("multi-task query about to be executed")) kind = multiShard;
    else if (entry.startsWith(`${notSupported} ERROR`)) kind = refused;
    else if (/^\w+ STATEMENT: /.test(entry)) {
      kind?.push(
        entry
          .replace(/^\w+ STATEMENT: */, "")
          .replaceAll(/\s+/g, " ")
          .trim(),
      );
      kind = undefined;
    }
  }
  return { multiShard, refused };
}
