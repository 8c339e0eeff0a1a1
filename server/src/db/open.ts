import type { Database, DatabaseOptions } from "./database.ts";
import type { Snapshot } from "./snapshot.ts";

/**
 * Returns the reason why a server cannot use the database, as a sentence for operators.
 *
 * @throws the errors of a database that cannot be reached
 */
export async function findDatabaseProblem(
  url: string,
  options: Pick<DatabaseOptions, "timeoutMs" | "isPooled">,
): Promise<string | undefined> {
  if (url.startsWith("file:")) return undefined;
  return (await import("./postgres/postgres.ts")).findPostgresProblem(url, options);
}

/**
 * Opens `file:…` with SQLite and `postgres://…` with PostgreSQL, and loads only that driver. Does not apply migrations.
 */
export async function openDatabase(url: string, options: DatabaseOptions): Promise<Database> {
  if (url.startsWith("file:")) {
    const { openSqlite } = await import("./sqlite/sqlite.ts");
    return openSqlite(url, options);
  }
  const { openPostgres } = await import("./postgres/postgres.ts");
  return openPostgres(url, options);
}

/**
 * Opens a snapshot that contains every write answered before this call.
 *
 * @throws Error if the database is missing or is not a Rollcall database
 */
export async function openSnapshot(url: string): Promise<Snapshot> {
  if (url.startsWith("file:")) {
    const { openSqliteSnapshot } = await import("./sqlite/snapshot.ts");
    return openSqliteSnapshot(url);
  }
  const { openPostgresSnapshot } = await import("./postgres/snapshot.ts");
  return openPostgresSnapshot(url);
}
