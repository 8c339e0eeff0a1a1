import { randomBytes } from "node:crypto";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import postgres from "postgres";
import type { Database, DatabaseOptions } from "../src/db/database.ts";
import { migrate } from "../src/db/migrate.ts";
import { openDatabase } from "../src/db/open.ts";

/** The database of a test file. */
export interface TestDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

/** Creates an empty database in `dataDir`, or on the PostgreSQL server of TEST_DATABASE_URL. */
export async function createTestDatabase(
  dataDir: string,
  server = process.env["TEST_DATABASE_URL"],
): Promise<TestDatabase> {
  if (server === undefined) return { url: sqliteUrl(dataDir), drop: async () => {} };
  return createOnServer(server);
}

/**
 * Copies a database without connections.
 *
 * @param template by default the migrated database of TEST_DATABASE_TEMPLATE; without one, the copy is empty
 */
export async function copyTestDatabase(
  dataDir: string,
  template = process.env["TEST_DATABASE_TEMPLATE"],
): Promise<TestDatabase> {
  if (template === undefined) return createTestDatabase(dataDir);
  const server = process.env["TEST_DATABASE_URL"];
  if (server !== undefined) return createOnServer(server, new URL(template).pathname.slice(1));
  const url = sqliteUrl(dataDir);
  mkdirSync(dataDir, { recursive: true });
  copyFileSync(fileURLToPath(template), fileURLToPath(url));
  return { url, drop: async () => {} };
}

/** An open, migrated database of a test file. */
export interface OpenTestDatabase {
  readonly url: string;
  readonly database: Database;
  /** A folder only for this test file. */
  readonly folder: string;
  /** Closes the database and deletes it. */
  close(): Promise<void>;
}

export async function openTestDatabase(options: DatabaseOptions): Promise<OpenTestDatabase> {
  const folder = mkdtempSync(join(tmpdir(), "rollcall-test-"));
  const { url, drop } = await copyTestDatabase(folder);
  const database = await openDatabase(url, options);
  await migrate(database);
  return {
    url,
    database,
    folder,
    async close() {
      await database.close();
      await drop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Creates a migrated database for a suite, which is opened again for each test. */
export function reopenForEachTest(options: DatabaseOptions): { readonly url: string; readonly database: Database } {
  let opened: OpenTestDatabase;
  let database: Database;
  before(async () => {
    opened = await openTestDatabase(options);
  });
  after(() => opened.close());
  beforeEach(async () => {
    database = await openDatabase(opened.url, options);
  });
  afterEach(() => database.close());
  return {
    get url() {
      return opened.url;
    },
    get database() {
      return database;
    },
  };
}

async function createOnServer(server: string, template?: string): Promise<TestDatabase> {
  const name = `rollcall_test_${randomBytes(8).toString("hex")}`;
  await administer(server, async (sql) => {
    const origin = template === undefined ? "" : `template ${template}`;
    await sql.unsafe(`create database ${name} ${origin} ${await copyStrategy(sql)}`);
  });
  const url = new URL(server);
  url.pathname = `/${name}`;
  const drop = () =>
    administer(server, async (sql) => void (await sql.unsafe(`drop database if exists ${name} with (force)`)));
  return { url: url.href, drop };
}

/** Copies files, which is the fastest way to create a small database, and the only one before PostgreSQL 15. */
async function copyStrategy(sql: postgres.Sql): Promise<string> {
  const [server] = await sql`select current_setting('server_version_num')::int >= 150000 as "hasStrategies"`;
  return server?.["hasStrategies"] ? "strategy file_copy" : "";
}

async function administer(server: string, work: (sql: postgres.Sql) => Promise<void>): Promise<void> {
  const sql = postgres(server, { max: 1, onnotice: () => {} });
  await work(sql);
  await sql.end();
}

/** The path of the SQLite database in a data folder. */
export function sqliteUrl(dataDir: string): string {
  return pathToFileURL(join(dataDir, "rollcall.db")).href;
}
