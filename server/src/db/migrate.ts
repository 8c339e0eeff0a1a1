import { setTimeout } from "node:timers/promises";
import { sql } from "kysely";
import { PlainFailure } from "../config/failure.ts";
import type { Database, Queries, Transaction } from "./database.ts";
import { type Dialect, isConflict } from "./dialect.ts";
import { distributeNewTables } from "./distribution.ts";
import { commitBeforeBaseline, findOlderThanBaseline, migrations, withBaseline } from "./migrations/list.ts";
import type { Migration } from "./migrations/migration.ts";

export interface MigrateOptions {
  /** The migrations of this version, in order; tests pass the migrations of another version. */
  readonly list?: readonly Migration[];
  /** Called with the migrations of a newer version that this one is compatible with. */
  onNewer?(names: readonly string[]): void;
  /** Called with the names of the applied migrations, before any other is applied; throws to refuse. */
  admit?(applied: readonly string[], queries: Queries): Promise<void>;
  /** Called before the first migration of an empty database. */
  onEmpty?(): void;
  /** Called before each migration; `done` of `total` have been applied. */
  onMigration?(name: string, done: number, total: number): void;
  /** This call belongs to a restore; any other call fails until the restore is finished. */
  readonly isRestoring?: boolean;
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
 * Brings the schema up to date in one transaction and under a lock: of several processes that start together, one
 * migrates and the others wait. If another transaction holds a table for long (a backup), the migration gives up to let
 * others pass and tries again, up to a hundred times. On a distributed database, tables that it adds are distributed
 * afterwards.
 *
 * @param seed runs in the same transaction if the database was empty
 * @returns the names of the applied migrations
 * @throws PlainFailure if a newer version has changed the schema incompatibly, the schema is older than the baseline,
 * or an earlier restore was not finished, unless this call belongs to a restore
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
  {
    list = migrations,
    onNewer = () => {},
    onEmpty = () => {},
    onMigration = () => {},
    admit,
    isRestoring = false,
  }: MigrateOptions,
): Promise<string[]> {
  const { dialect } = database;
  return database.write(async (transaction) => {
    const { queries } = transaction;
    for (const statement of dialect.lockMigrations) await statement.execute(queries);
    await createRecord(dialect, queries);
    const recorded = await readRecord(queries);
    const names = [...recorded.keys()];
    if (recorded.has(restoringName) && !isRestoring) {
      throw new PlainFailure("A restore into this database was not finished. Run it again, with --force.");
    }
    const older = findOlderThanBaseline(names);
    if (older !== undefined) throw schemaTooOld(older);
    const applied = withBaseline(names);
    const newer = applied.filter(
      (name) => name !== restoringName && !list.some((migration) => migration.name === name),
    );
    const refusing = newer.filter((name) => recorded.get(name) === 1);
    if (refusing.length > 0) throw schemaTooNew(refusing);
    if (newer.length > 0) onNewer(newer);
    await admit?.(applied, queries);

    const missing = list.filter(({ name }) => !applied.includes(name));
    if (recorded.size === 0) onEmpty();
    for (const [done, migration] of missing.entries()) {
      onMigration(migration.name, done, missing.length);
      await applyMigration(migration, dialect, queries);
    }
    if (recorded.size === 0) await seed(transaction);
    return missing.map(({ name }) => name);
  });
}

/** Creates the table of applied migrations if it is missing. */
export async function createRecord({ ddl }: Dialect, queries: Queries): Promise<void> {
  await sql`
    create table if not exists schema_migrations (
      name ${ddl.text} not null primary key,
      refuses_older ${ddl.integer} not null default 0
    ) ${ddl.tableOptions}`.execute(queries);
}

/** Runs the statements of a migration, and records it. */
export async function applyMigration(
  { name, refusesOlder = false, statements }: Migration,
  { ddl, runsScripts }: Dialect,
  queries: Queries,
): Promise<void> {
  const all = statements(ddl);
  const script = () => sql.raw(all.map((statement) => statement.compile(queries).sql).join(";\n"));
  for (const each of runsScripts ? [script()] : all) await each.execute(queries);
  const refuses = refusesOlder ? 1 : 0;
  await sql`insert into schema_migrations (name, refuses_older) values (${name}, ${refuses})`.execute(queries);
}

/** Maps the recorded migrations to their `refuses_older`, a column that the oldest databases lack. */
async function readRecord(queries: Queries): Promise<Map<string, number | undefined>> {
  const { rows } = await sql<{ name: string; refuses_older?: number }>`select * from schema_migrations`.execute(
    queries,
  );
  return new Map(rows.map(({ name, refuses_older }) => [name, refuses_older]));
}

function schemaTooNew(names: readonly string[]): PlainFailure {
  const listed = names.join(", ");
  return new PlainFailure(
    `The database was migrated by a newer version (${listed}), which this one cannot serve beside.`,
  );
}

function schemaTooOld(last: string): PlainFailure {
  return new PlainFailure(
    `DATABASE_URL: this database was last migrated by an older version (${last}), which this one cannot continue. ` +
      `Start the version of commit ${commitBeforeBaseline} on it once, or run its "rollcall migrate". Then start this version.`,
  );
}
