import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/** The platforms whose devices reported each version of an app, as a JSON array; empty for reports to an older release. */
export const appVersionPlatforms: Migration = {
  name: "0057-app-version-platforms",
  statements: ({ text }) => [sql`alter table app_versions add column platforms ${text} not null default '[]'`],
};
