import { sql } from "kysely";
import { PlainFailure } from "../failure.ts";
import type { Database, Transaction } from "./database.ts";
import { migrations } from "./migrations/list.ts";

/** Stands among the migrations while a database is being restored: half of one must not be served. */
export const restoringName = "restoring";

/**
 * Brings the schema up to date, in one transaction and under a lock: of several processes that start at once, one
 * migrates and the others wait for it.
 *
 * @param seed runs in the same transaction when the database was empty
 * @returns the names of the migrations that were applied
 * @throws PlainFailure when a restore has not been finished, unless this belongs to it
 */
export async function migrate(
  database: Database,
  seed: (transaction: Transaction) => Promise<void> = async () => {},
  { isRestoring = false }: { readonly isRestoring?: boolean } = {},
): Promise<string[]> {
  const { ddl, lockMigrations } = database.dialect;
  return database.write(async (transaction) => {
    const { queries } = transaction;
    for (const statement of lockMigrations) await statement.execute(queries);
    await sql`
      create table if not exists schema_migrations (name ${ddl.text} not null primary key) ${ddl.tableOptions}
    `.execute(queries);
    const { rows } = await sql<{ name: string }>`select name from schema_migrations`.execute(queries);
    const applied = new Set(rows.map(({ name }) => name));
    if (applied.has(restoringName) && !isRestoring) {
      throw new PlainFailure("A restore into this database was not finished. Run it again, with --force.");
    }

    const missing = migrations.filter(({ name }) => !applied.has(name));
    for (const { name, statements, fill } of missing) {
      for (const statement of statements(ddl)) await statement.execute(queries);
      await fill?.(queries);
      await sql`insert into schema_migrations (name) values (${name})`.execute(queries);
    }
    if (applied.size === 0) await seed(transaction);
    return missing.map(({ name }) => name);
  });
}
