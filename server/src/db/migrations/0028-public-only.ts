import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/**
 * The URLs in the settings that may lead to public addresses only. A separate column, because processes of the previous
 * version refuse settings with unknown members.
 */
export const publicOnly: Migration = {
  name: "0028-public-only",
  statements: ({ text }) => [sql`alter table applications add column public_only ${text}`],
};
