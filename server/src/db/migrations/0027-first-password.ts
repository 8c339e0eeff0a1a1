import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/** Marks operators whose password was printed to a log: 1 until they have set another one. */
export const firstPassword: Migration = {
  name: "0027-first-password",
  statements: ({ integer }) => [
    sql`alter table operators add column must_change_password ${integer} not null default 0`,
  ],
};
