import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/**
 * How many equal refusals an entry of the audit log stands for, and the time of the last one; null if it is the only
 * one.
 */
export const foldedRefusals: Migration = {
  name: "0030-folded-refusals",
  statements: ({ integer }) => [
    sql`alter table audit_log add column count ${integer} not null default 1`,
    sql`alter table audit_log add column last_at ${integer}`,
  ],
};
