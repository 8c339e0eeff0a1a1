import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/**
 * Sessions of operators may be cookies, are listed with their browsers, and record the last time at which the password
 * was entered.
 */
export const sessionBrowsers: Migration = {
  name: "0038-operator-sessions",
  statements: ({ text, integer }) => [
    sql`alter table operator_sessions add column proved_at ${integer}`,
    sql`alter table operator_sessions add column address ${text} not null default ''`,
    sql`alter table operator_sessions add column browser ${text} not null default ''`,
    sql`alter table operator_sessions add column is_cookie ${integer} not null default 0`,
    sql`create index operator_sessions_created on operator_sessions (operator_id, created_at, digest)`,
  ],
};
