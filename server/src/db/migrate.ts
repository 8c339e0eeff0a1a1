import { setTimeout } from "node:timers/promises";
import { sql } from "kysely";
import { PlainFailure } from "../failure.ts";
import type { Database, Queries, Transaction } from "./database.ts";
import { isConflict } from "./dialect.ts";
import { distributeNewTables } from "./distribution.ts";
import { migrations } from "./migrations/list.ts";
import type { Migration } from "./migrations/migration.ts";
import { createNewSchema } from "./new-schema.ts";

export interface MigrateOptions {
  /** The migrations of this version, in order; tests pass those of another version. */
  readonly list?: readonly Migration[];
  /** Called with the migrations of a newer version that this one is compatible with. */
  onNewer?(names: readonly string[]): void;
  /** Called before the first migration of an empty database. */
  onEmpty?(): void;
  /** Called before each migration, and once for all those of an empty database; `done` of `total` have been applied. */
  onMigration?(name: string, done: number, total: number): void;
  /** This call belongs to a restore; any other call fails until the restore is finished. */
  readonly isRestoring?: boolean;
}

/** A newer version has changed the schema in an incompatible way. */
class SchemaTooNew extends Error {
  constructor(names: readonly string[]) {
    super(`The database was migrated by a newer version (${names.join(", ")}), which this one cannot serve beside.`);
    this.name = "SchemaTooNew";
  }
}

/**
 * A migration that waits for a table lock also blocks every later transaction on that table, so it gives up and tries
 * again.
 */
const lockTriesMax = 100;
const lockAgainMs = 1_000;

/** Recorded as a migration while a database is being restored, so that no server serves a half-restored one. */
export const restoringName = "restoring";

/**
 * Brings the schema up to date in one transaction and under a lock: of several processes that start at once, one
 * migrates and the others wait. If another transaction holds a table for long (a backup), the migration gives up to let
 * others pass and tries again, up to a hundred times. On a distributed database, tables that it adds are distributed afterwards.
 *
 * @param seed runs in the same transaction if the database was empty
 * @returns the names of the applied migrations
 * @throws SchemaTooNew
 * @throws PlainFailure if an earlier restore was not finished, unless this call belongs to a restore
 */
export async function migrate(
  database: Database,
  seed: (transaction: Transaction) => Promise<void> = async () => {},
  options: MigrateOptions = {},
): Promise<string[]> {
  for (let tries = 1; ; tries += 1) {
    try {
      const applied = await migrateNow(database, seed, options);
      await distributeNewTables(database);
      return applied;
    } catch (error) {
      if (!isConflict(error) || tries === lockTriesMax) throw error;
    }
    await setTimeout(lockAgainMs);
  }
}

async function migrateNow(
  database: Database,
  seed: (transaction: Transaction) => Promise<void>,
  { list = migrations, onNewer = () => {}, onEmpty, onMigration = () => {}, isRestoring = false }: MigrateOptions,
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
    if (applied.size === 0) {
      onEmpty?.();
      if (missing[0] !== undefined) onMigration(missing[0].name, 0, missing.length);
      await createNewSchema(list, database.dialect, queries);
      await record(missing, queries);
      await seed(transaction);
    } else {
      for (const [done, migration] of missing.entries()) {
        onMigration(migration.name, done, missing.length);
        for (const statement of migration.statements(ddl)) await statement.execute(queries);
        await migration.fill?.(queries);
        await record([migration], queries);
      }
    }
    return missing.map(({ name }) => name);
  });
}

async function record(migrations: readonly Migration[], queries: Queries): Promise<void> {
  if (migrations.length === 0) return;
  const rows = migrations.map(({ name }) => sql`(${name})`);
  await sql`insert into schema_migrations (name) values ${sql.join(rows)}`.execute(queries);
  for (const { name } of migrations.filter(({ refusesOlder }) => refusesOlder === true)) {
    await sql`update schema_migrations set refuses_older = 1 where name = ${name}`.execute(queries);
  }
}

/** Maps the applied migrations to their `refuses_older`, a column that one of the migrations adds. */
async function readApplied(queries: Queries): Promise<Map<string, number | undefined>> {
  const { rows } = await sql<{ name: string; refuses_older?: number }>`select * from schema_migrations`.execute(
    queries,
  );
  return new Map(rows.map(({ name, refuses_older }) => [name, refuses_older]));
}
