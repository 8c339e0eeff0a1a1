import { randomBytes } from "node:crypto";
import { copyFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import postgres from "postgres";
import { sqliteUrl } from "./harness.ts";

/** A database of one test file. */
export interface TestDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

/** An empty database: in `dataDir`, or on the PostgreSQL server that TEST_DATABASE_URL names. */
export async function createTestDatabase(dataDir: string): Promise<TestDatabase> {
  const server = process.env["TEST_DATABASE_URL"];
  if (server === undefined) return { url: sqliteUrl(dataDir), drop: async () => {} };
  return createOnServer(server, "");
}

/** A copy of the migrated database that TEST_DATABASE_TEMPLATE names; an empty database without that variable. */
export async function copyTestDatabase(dataDir: string): Promise<TestDatabase> {
  const template = process.env["TEST_DATABASE_TEMPLATE"];
  if (template === undefined) return createTestDatabase(dataDir);
  const server = process.env["TEST_DATABASE_URL"];
  if (server !== undefined) return createOnServer(server, `template ${new URL(template).pathname.slice(1)}`);
  const url = sqliteUrl(dataDir);
  copyFileSync(fileURLToPath(template), fileURLToPath(url));
  return { url, drop: async () => {} };
}

async function createOnServer(server: string, origin: string): Promise<TestDatabase> {
  const name = `rollcall_test_${randomBytes(8).toString("hex")}`;
  await administer(server, `create database ${name} ${origin}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => administer(server, `drop database if exists ${name} with (force)`) };
}

async function administer(server: string, statement: string): Promise<void> {
  const sql = postgres(server, { max: 1, onnotice: () => {} });
  await sql.unsafe(statement);
  await sql.end();
}
