import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import { PlainFailure } from "../config/failure.ts";
import type { Database, Queries } from "../db/database.ts";
import { applyMigration, createRecord, restoringName } from "../db/migrate.ts";
import { migrations } from "../db/migrations/list.ts";
import { deploymentTables, tablesInErasureOrder } from "../db/table-catalogue.ts";

/** Tables of older schemas, children first. */
const formerTables = ["operator_tokens", "revoked_tokens"];

/** All tables that a Rollcall database may have, children first. */
const allTables: readonly string[] = [
  ...formerTables,
  ...tablesInErasureOrder,
  "applications",
  ...deploymentTables,
  "schema_migrations",
];

/** Whether the database has no rows that a restore would delete. */
export async function isEmptyDatabase({ reads }: Database): Promise<boolean> {
  for (const table of await listTables(reads)) {
    if (table === "schema_migrations") continue;
    const { rows } = await sql`select 1 from ${sql.table(table)} limit 1`.execute(reads);
    if (rows.length > 0) return false;
  }
  return true;
}

/**
 * Drops all Rollcall tables, and creates the schema of these migrations, marked as being restored. Servers refuse a marked
 * database until {@link endRestoring}.
 *
 * @returns the mark of this restore, which another restore replaces
 */
export async function beginRestoring(names: readonly string[], database: Database): Promise<string> {
  const { dialect } = database;
  const mark = `${restoringName} ${randomUUID()}`;
  await database.write(async ({ queries }) => {
    for (const statement of dialect.lockMigrations) await statement.execute(queries);
    for (const table of await listTables(queries)) await sql`drop table ${sql.table(table)}`.execute(queries);
    await createRecord(dialect, queries);
    const wanted = migrations.filter(({ name }) => names.includes(name));
    for (const migration of wanted) await applyMigration(migration, dialect, queries);
    for (const name of [restoringName, mark]) {
      await sql`insert into schema_migrations (name) values (${name})`.execute(queries);
    }
  });
  return mark;
}

/** Must run in each transaction of a restore. @throws PlainFailure if another restore has started */
export async function requireRestoring(mark: string, queries: Queries): Promise<void> {
  const { rows } = await sql`select 1 from schema_migrations where name = ${mark}`.execute(queries);
  if (rows.length === 0) throw new PlainFailure("Another restore into this database has begun.");
}

/** Removes the mark, so that the database can be served. */
export async function endRestoring(mark: string, queries: Queries): Promise<void> {
  await requireRestoring(mark, queries);
  await sql`delete from schema_migrations where name in (${restoringName}, ${mark})`.execute(queries);
}

/** Lists the Rollcall tables that exist. */
async function listTables(queries: Queries): Promise<string[]> {
  const there = new Set((await queries.introspection.getTables()).map(({ name }) => name));
  return allTables.filter((table) => there.has(table));
}
