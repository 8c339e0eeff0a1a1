import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/**
 * Sealed secrets in the settings of an application. A separate column, because processes of the previous version refuse
 * settings with unknown members or values.
 */
export const sealedSettings: Migration = {
  name: "0031-sealed-settings",
  statements: ({ text }) => [sql`alter table applications add column sealed_settings ${text}`],
};
