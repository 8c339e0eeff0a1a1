import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/** Addresses that users have verified by a mailed code, each of one user of an application. */
export const verifiedAddresses: Migration = {
  name: "0064-verified-addresses",
  statements: ({ addColumn, integer, tableOptions, text }) => [
    sql`alter table users ${addColumn} verified_email_key ${text}`,
    sql`
      create unique index if not exists users_by_verified_email on users (application_id, verified_email_key)
      where verified_email_key is not null`,
    sql`
      create table email_codes (
        application_id ${text} not null,
        user_id ${text} not null,
        digest ${text} not null,
        tries_left ${integer} not null,
        expires_at ${integer} not null,
        created_at ${integer} not null,
        address ${text} not null,
        primary key (application_id, user_id),
        foreign key (application_id, user_id) references users (application_id, id)
      ) ${tableOptions}`,
  ],
};
