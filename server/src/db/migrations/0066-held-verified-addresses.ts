import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/** The verified address from before an unproven change, which its owner still has until the change holds. */
export const heldVerifiedAddresses: Migration = {
  name: "0066-held-verified-addresses",
  statements: ({ addColumn, text }) => [
    sql`alter table users ${addColumn} held_email_key ${text}`,
    sql`
      create index if not exists users_by_held_email on users (application_id, held_email_key)
      where held_email_key is not null`,
  ],
};
