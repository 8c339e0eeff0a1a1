import { sql } from "kysely";
import type { Queries } from "./database.ts";
import type { Dialect } from "./dialect.ts";
import type { Tables } from "./tables.ts";

/** Locks a row for the rest of the transaction, for a read-modify-write. */
export async function lockRow(
  dialect: Dialect,
  table: keyof Tables,
  applicationId: string,
  id: string,
  queries: Queries,
): Promise<void> {
  if (!dialect.hasRowLocks) return;
  await sql`select 1 from ${sql.table(table)} where application_id = ${applicationId} and id = ${id} for update`.execute(
    queries,
  );
}

/** Locks the row of the application, without blocking inserts that refer to it. */
export async function lockApplication(dialect: Dialect, applicationId: string, queries: Queries): Promise<void> {
  if (!dialect.hasRowLocks) return;
  await sql`select 1 from applications where application_id = ${applicationId} for no key update`.execute(queries);
}

/** Serializes the transactions that lock the same name, from this statement until each is over. */
export async function lockName(dialect: Dialect, name: string, queries: Queries): Promise<void> {
  await dialect.advisoryLock?.(name).execute(queries);
}
