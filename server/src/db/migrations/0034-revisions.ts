import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/** Processes that know no revisions would revoke tokens without the others noticing it. */
export const revisions: Migration = {
  name: "0034-revisions",
  refusesOlder: true,
  statements: ({ text }) => [sql`alter table applications add column revision ${text} not null default ''`],
};
