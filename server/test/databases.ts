import { randomBytes } from "node:crypto";
import postgres from "postgres";
import { sqliteUrl } from "./harness.ts";

/** An empty database of one test file. */
export interface TestDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

/** A fresh database: in `dataDir`, or on the PostgreSQL server that TEST_DATABASE_URL names. */
export async function createTestDatabase(dataDir: string): Promise<TestDatabase> {
  const server = process.env["TEST_DATABASE_URL"];
  if (server === undefined) return { url: sqliteUrl(dataDir), drop: async () => {} };

  const name = `rollcall_test_${randomBytes(8).toString("hex")}`;
  await administer(server, `create database ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => administer(server, `drop database if exists ${name} with (force)`) };
}

async function administer(server: string, statement: string): Promise<void> {
  const sql = postgres(server, { max: 1, onnotice: () => {} });
  await sql.unsafe(statement);
  await sql.end();
}
