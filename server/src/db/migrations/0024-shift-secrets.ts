import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/**
 * locationFuzzing gets a secret per purpose, and a new one when an old one may have leaked. Stored fuzzed locations
 * stay as they are: a second one for the same place would narrow down the true location.
 */
export const shiftSecrets: Migration = {
  name: "0024-shift-secrets",
  statements: ({ text, integer }) => [
    sql`alter table location_shifts add column secret ${text} not null default ''`,
    sql`alter table users add column shift_generation ${integer} not null default 0`,
    sql`create index if not exists location_shifts_by_secret
      on location_shifts (application_id, user_id, setter_id, secret, cell, id)`,
  ],
};
