import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/**
 * When devices were last seen, and whose tokens are on a device: for the impact that operators read before a
 * revocation.
 */
export const deviceUses: Migration = {
  name: "0037-device-uses",
  statements: ({ integer }) => [
    sql`alter table devices add column last_seen_at ${integer}`,
    sql`create index devices_all_seen on devices (application_id, last_seen_at, id)`,
    sql`create index devices_of_key_seen on devices (application_id, key_id, last_seen_at)`,
    sql`create index user_tokens_of_device on user_tokens (application_id, device_id, user_id, id)`,
  ],
};
