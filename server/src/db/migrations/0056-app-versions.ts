import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/** When each version of an app was first reported (`statistics/statistics.versions.ts`); unknown for those of devices of today. */
export const appVersions: Migration = {
  name: "0056-app-versions",
  statements: ({ text, integer, tableOptions }) => [
    sql`
      create table app_versions (
        application_id ${text} not null,
        app_version ${text} not null,
        first_seen_at ${integer} not null,
        reports ${integer} not null,
        primary key (application_id, app_version),
        foreign key (application_id) references applications (application_id)
      ) ${tableOptions}`,
    sql`
      insert into app_versions (application_id, app_version, first_seen_at, reports)
      select application_id, app_version, 0, count(*) from devices
      where app_version is not null group by application_id, app_version`,
  ],
};
