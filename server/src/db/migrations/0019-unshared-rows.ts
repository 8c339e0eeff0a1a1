import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/**
 * Operators list check-ins and files in two parts: shared rows, which have an index already, and unshared rows. An
 * index of all rows in the same order misled an engine without statistics: it used the index for the searches of
 * clients as well, which then walked over all unshared rows.
 */
export const unsharedRows: Migration = {
  name: "0019-unshared-rows",
  statements: () => [
    sql`drop index checkins_all_created`,
    sql`drop index files_all_created`,
    sql`create index checkins_unshared_created on checkins (application_id, created_at, id)
      where coalesce(read_permission, 0) <> 1`,
    sql`create index files_unshared_created on files (application_id, kind, created_at, id)
      where coalesce(read_permission, 0) <> 1`,
  ],
};
