import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/**
 * Operators can suspend applications, retire keys and disable users; devices record the key that they registered with.
 */
export const applicationControl: Migration = {
  name: "0014-application-control",
  statements: ({ text, integer }) => [
    sql`alter table applications add column suspended_at ${integer}`,
    sql`alter table applications add column signing_secret ${text}`,
    sql`alter table applications add column key_generation ${integer} not null default 0`,
    sql`alter table application_keys add column generation ${integer} not null default 0`,
    sql`alter table application_keys add column label ${text}`,
    sql`alter table application_keys add column retired_at ${integer}`,
    sql`alter table devices add column key_id ${text}`,
    sql`alter table devices add column registered_at ${integer}`,
    sql`create index devices_of_key on devices (application_id, key_id, registered_at)`,
    sql`alter table users add column disabled_at ${integer}`,
  ],
};
