import { sql } from "kysely";
import { countRows } from "../db/count-rows.ts";
import type { Database } from "../db/database.ts";

/** Reads the size of the database and the kept sums of all files, and the name of the last migration. */
export async function findStorage({ dialect, reads }: Pick<Database, "dialect" | "reads">) {
  const [size, usage, orphanedObjects, last] = await Promise.all([
    dialect.databaseBytes.execute(reads),
    // From the applications on, because file_usage has a row for each user, too.
    sql<{ files: number | null; bytes: number | null }>`
      select cast(sum(files) as bigint) as files, cast(sum(bytes) as bigint) as bytes
      from applications
      join file_usage on file_usage.application_id = applications.application_id and file_usage.user_id = ''
    `.execute(reads),
    countRows(sql`from loose_bytes`, reads),
    sql<{ name: string | null }>`select max(name) as name from schema_migrations`.execute(reads),
  ]);
  const [{ files, bytes } = { files: 0, bytes: 0 }] = usage.rows;
  return {
    databaseBytes: Number(size.rows[0]?.bytes),
    files: Number(files),
    bytes: Number(bytes),
    orphanedObjects,
    schema: last.rows[0]?.name ?? "",
  };
}
