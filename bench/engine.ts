import { randomBytes } from "node:crypto";
import { chmodSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import postgres from "postgres";
import { startThrowawayPostgres } from "../scripts/throwaway-postgres.ts";
import { adopt, newFolder, temporaryFolder } from "../testkit/children.ts";
import { runCliOf } from "../testkit/deployment.ts";
import { readTreeCpuSeconds } from "../testkit/processes.ts";
import { rollcall } from "../testkit/server.ts";
import { startWorker, type Worker } from "../testkit/worker.ts";
import type { Fixture } from "./fixture.ts";

/** A database for one server, as environment variables. */
export interface Deployment {
  readonly settings: Readonly<Record<string, string>>;
  /** The `rollcall` program of another checkout; default: of this one. */
  readonly program?: string;
}

/** The request and response of a ceiling without a load generator: a duration, and operations per second. */
export type RateWorker = Worker<{ readonly seconds: number }, number>;

/** A database engine under test. */
export interface Engine {
  readonly name: "SQLite" | "PostgreSQL";
  readonly version: string;
  newDeployment(): Promise<Deployment>;
  /**
   * Gathers the planner's statistics of the rows, as PostgreSQL does by itself within a minute: until then it may take
   * another index, and read all check-ins of an application for a page.
   */
  settle(deployment: Deployment): Promise<void>;
  /** The processor time of its own processes so far: 0 for an engine in the server's process. */
  cpuSeconds(): number;
  /** The engine's own durable inserts into this table of the deployment, of rows like its existing one. */
  startInsertCeiling(deployment: Deployment, table: string, concurrency: number): Promise<RateWorker>;
}

/** SQLite, with a folder for each deployment. */
export function createSqlite(): Engine {
  const version = new DatabaseSync(":memory:").prepare("select sqlite_version() as version").get();
  return {
    name: "SQLite",
    version: String(version?.["version"]),
    newDeployment: async () => ({ settings: { DATA_DIR: newFolder("data") } }),
    async settle() {},
    cpuSeconds: () => 0,
    async startInsertCeiling({ settings }, table, concurrency) {
      // A copy: the same tables, indexes and rows on the same disk, without touching the server's own file.
      const file = path.join(newFolder("ceiling"), "copy.db");
      const original = new DatabaseSync(path.join(settings["DATA_DIR"] ?? "", "rollcall.db"), { readOnly: true });
      original.prepare("vacuum into ?").run(file);
      original.close();
      return startWorker(import.meta.resolve("./ceiling-sqlite.ts"), { file, table, concurrency });
    },
  };
}

/** An answered commit is on disk, as by default. */
const settings = { fsync: "on", full_page_writes: "on" };

/** PostgreSQL, with a database for each deployment in one server that runs for the whole run. */
export async function startPostgres(): Promise<Engine> {
  chmodSync(temporaryFolder(), 0o711); // PostgreSQL may run as another account, which must be able to enter its folder
  const { url, process } = await startThrowawayPostgres({ isDurable: true, settings, parent: temporaryFolder() });
  const { pid = 0 } = adopt(process(), "SIGINT"); // a started process has one
  const admin = postgres(url, { max: 1, onnotice: () => {} });
  const [row] = await admin<[{ server_version: string }]>`show server_version`;
  await admin.end();
  return {
    name: "PostgreSQL",
    version: row.server_version,
    cpuSeconds: () => readTreeCpuSeconds(pid),
    async newDeployment() {
      const name = `bench_${randomBytes(6).toString("hex")}`;
      const connection = postgres(url, { max: 1, onnotice: () => {} });
      await connection`create database ${connection(name)}`;
      await connection.end();
      const databaseUrl = new URL(url);
      databaseUrl.pathname = `/${name}`;
      return {
        settings: {
          DATA_DIR: newFolder("data"),
          DATABASE_URL: databaseUrl.href,
          ROLLCALL_SECRET: randomBytes(32).toString("hex"),
        },
      };
    },
    async settle({ settings }) {
      const connection = postgres(settings["DATABASE_URL"] ?? "", { max: 1, onnotice: () => {} });
      await connection`analyze`;
      await connection.end();
    },
    startInsertCeiling: async ({ settings }, table, concurrency) =>
      startWorker(import.meta.resolve("./ceiling-postgres.ts"), { url: settings["DATABASE_URL"], table, concurrency }),
  };
}

/** The same engine, with servers of another checkout of Rollcall. */
export function ofCheckout(engine: Engine, checkout: string): Engine {
  const program = path.join(checkout, "server/bin/rollcall.mjs");
  return { ...engine, newDeployment: async () => ({ ...(await engine.newDeployment()), program }) };
}

/** Creates an application in the deployment with the command that operators use. */
export function createApplication({ settings, program = rollcall }: Deployment): Promise<Fixture["credentials"]> {
  return runCliOf(program, settings, "apps", "create", "--name", "Bench", "--json");
}

/** An owner, who can sign in at once. */
export function createOperator({
  settings,
  program = rollcall,
}: Deployment): Promise<{ name: string; password: string }> {
  return runCliOf(program, settings, "operators", "create", "--name", "bench", "--role", "owner", "--json");
}
