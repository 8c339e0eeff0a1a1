import { setTimeout } from "node:timers/promises";
import { sql } from "kysely";
import { PlainFailure } from "../failure.ts";
import type { Database, Queries, Transaction } from "./database.ts";
import { isConflict } from "./dialect.ts";
import { migrations } from "./migrations/list.ts";
import type { Migration } from "./migrations/migration.ts";

export interface MigrateOptions {
  /** Those of this version, in order; another version has other ones. */
  readonly list?: readonly Migration[];
  /** Hears of migrations of a newer version, beside which this one can serve. */
  onNewer?(names: readonly string[]): void;
  /** It is part of a restore, which otherwise has to be finished first. */
  readonly isRestoring?: boolean;
}

/** A newer version has changed the schema in a way that this one cannot serve with. */
class SchemaTooNew extends Error {
  constructor(names: readonly string[]) {
    super(`The database was migrated by a newer version (${names.join(", ")}), which this one cannot serve beside.`);
    this.name = "SchemaTooNew";
  }
}

/** While a migration waits for a table, whoever comes after it waits too: it gives way, and tries again. */
const lockTriesMax = 100;
const lockAgainMs = 1_000;

/** Stands among the migrations while a database is being restored: half of one must not be served. */
export const restoringName = "restoring";

/**
 * Brings the schema up to date, in one transaction and under a lock: of several processes that start at once, one
 * migrates and the others wait for it. Where others hold its tables for long (a backup), it lets those through that came
 * after it, a hundred times at most.
 *
 * @param seed runs in the same transaction when the database was empty
 * @returns the names of the migrations that were applied
 * @throws SchemaTooNew
 * @throws PlainFailure when a restore has not been finished, unless this belongs to it
 */
export async function migrate(
  database: Database,
  seed: (transaction: Transaction) => Promise<void> = async () => {},
  options: MigrateOptions = {},
): Promise<string[]> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await migrateNow(database, seed, options);
    } catch (error) {
      if (!isConflict(error) || tries === lockTriesMax) throw error;
    }
    await setTimeout(lockAgainMs);
  }
}

async function migrateNow(
  database: Database,
  seed: (transaction: Transaction) => Promise<void>,
  { list = migrations, onNewer = () => {}, isRestoring = false }: MigrateOptions,
): Promise<string[]> {
  const { ddl, lockMigrations } = database.dialect;
  return database.write(async (transaction) => {
    const { queries } = transaction;
    for (const statement of lockMigrations) await statement.execute(queries);
    await sql`
      create table if not exists schema_migrations (name ${ddl.text} not null primary key) ${ddl.tableOptions}
    `.execute(queries);
    const applied = await readApplied(queries);
    if (applied.has(restoringName) && !isRestoring) {
      throw new PlainFailure("A restore into this database was not finished. Run it again, with --force.");
    }
    const newer = [...applied.keys()].filter(
      (name) => name !== restoringName && !list.some((migration) => migration.name === name),
    );
    const refusing = newer.filter((name) => applied.get(name) === 1);
    if (refusing.length > 0) throw new SchemaTooNew(refusing);
    if (newer.length > 0) onNewer(newer);

    const missing = list.filter(({ name }) => !applied.has(name));
    for (const { name, statements, fill, refusesOlder } of missing) {
      for (const statement of statements(ddl)) await statement.execute(queries);
      await fill?.(queries);
      await sql`insert into schema_migrations (name) values (${name})`.execute(queries);
      if (refusesOlder === true)
        await sql`update schema_migrations set refuses_older = 1 where name = ${name}`.execute(queries);
    }
    if (applied.size === 0) await seed(transaction);
    return missing.map(({ name }) => name);
  });
}

/** By name, whether it refuses those who do not know it; the column came with one of them. */
async function readApplied(queries: Queries): Promise<Map<string, number | undefined>> {
  const { rows } = await sql<{ name: string; refuses_older?: number }>`select * from schema_migrations`.execute(
    queries,
  );
  return new Map(rows.map(({ name, refuses_older }) => [name, refuses_older]));
}
