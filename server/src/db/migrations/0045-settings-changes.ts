import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/**
 * When each member of an application's settings was changed last, and by whom. Processes of the previous version leave
 * the column as it is, so it can miss changes that were made by them.
 */
export const settingsChanges: Migration = {
  name: "0045-settings-changes",
  statements: ({ text }) => [sql`alter table applications add column settings_changes ${text}`],
};
