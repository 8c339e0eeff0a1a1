import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/** Processes of an older version accept a superseded token until it expires, and change nothing about renewals. */
export const tokenRenewals: Migration = {
  name: "0035-token-renewals",
  statements: ({ text, integer }) => [
    sql`alter table user_tokens add column renewals ${integer} not null default 0`,
    sql`alter table user_tokens add column first_uses ${text}`,
    sql`alter table applications add column renews_tokens ${integer} not null default 0`,
  ],
};
