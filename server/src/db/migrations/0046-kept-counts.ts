import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/** How many devices, users and check-ins an application had when maintenance counted them. */
export const keptCounts: Migration = {
  name: "0046-kept-counts",
  statements: ({ text, integer, tableOptions }) => [
    sql`
      create table kept_counts (
        application_id ${text} not null,
        kind ${text} not null,
        counted ${integer} not null,
        counted_at ${integer} not null,
        primary key (application_id, kind),
        foreign key (application_id) references applications (application_id)
      ) ${tableOptions}`,
  ],
};
