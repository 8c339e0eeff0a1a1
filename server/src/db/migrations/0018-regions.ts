import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/** The regions of remote applications, and of applications that are moving. */
export const regions: Migration = {
  name: "0018-regions",
  statements: ({ text, integer, tableOptions }) => [
    sql`alter table applications add column moving_to ${text}`,
    sql`
      create table application_regions (
        application_id ${text} not null,
        region ${text} not null,
        state ${text} not null,
        changed_at ${integer} not null,
        primary key (application_id)
      ) ${tableOptions}`,
  ],
};
