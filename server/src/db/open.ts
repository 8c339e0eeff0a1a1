import type { Database, DatabaseOptions } from "./database.ts";

/**
 * Opens `file:…` with SQLite and `postgres://…` with PostgreSQL, and loads only that driver. Does not apply migrations.
 */
export async function openDatabase(url: string, options: DatabaseOptions): Promise<Database> {
  if (url.startsWith("file:")) {
    const { openSqlite } = await import("./sqlite.ts");
    return openSqlite(url, options);
  }
  const { openPostgres } = await import("./postgres.ts");
  return openPostgres(url, options);
}
