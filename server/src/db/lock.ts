import { sql } from "kysely";
import type { Queries } from "./database.ts";
import type { Dialect } from "./dialect.ts";
import type { Tables } from "./tables.ts";

/** Keeps others from changing a row until the transaction ends: for what is read, decided upon and written back. */
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

/** The same for the row of the application itself; what is inserted below it does not wait. */
export async function lockApplication(dialect: Dialect, applicationId: string, queries: Queries): Promise<void> {
  if (!dialect.hasRowLocks) return;
  await sql`select 1 from applications where application_id = ${applicationId} for no key update`.execute(queries);
}
