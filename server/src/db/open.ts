import type { Database, DatabaseOptions } from "./database.ts";
import { openPostgres } from "./postgres.ts";
import { openSqlite } from "./sqlite.ts";

/** Opens `file:…` with SQLite and `postgres://…` with PostgreSQL. Migrations are not applied here. */
export function openDatabase(url: string, options: DatabaseOptions): Database {
  return url.startsWith("file:") ? openSqlite(url, options) : openPostgres(url, options);
}
