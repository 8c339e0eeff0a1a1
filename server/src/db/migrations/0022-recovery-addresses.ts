import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/** The address that receives reset codes for a while after the user's address was changed without proof. */
export const recoveryAddresses: Migration = {
  name: "0022-recovery-addresses",
  statements: ({ text, integer }) => [
    sql`alter table users add column held_email ${text}`,
    sql`alter table users add column held_until ${integer}`,
    sql`alter table users add column email_changed_at ${integer}`,
  ],
};
