import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/**
 * Leases, by which one of many processes does singleton work, and a flag that lets a schema refuse versions that are
 * too old for it.
 */
export const manyNodes: Migration = {
  name: "0016-many-nodes",
  statements: ({ text, integer, tableOptions }) => [
    sql`
      create table leases (
        name ${text} not null,
        holder ${text} not null,
        ends_at ${integer} not null,
        primary key (name)
      ) ${tableOptions}`,
    sql`alter table schema_migrations add column refuses_older ${integer} not null default 0`,
  ],
};
