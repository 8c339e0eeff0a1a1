import { type RawBuilder, sql } from "kysely";
import type { Migration } from "./migration.ts";

/** The failed sign-ins for a name, of applications and of the deployment: all processes share them. */
export const sharedGuessCounts: Migration = {
  name: "0041-shared-guess-counts",
  statements: ({ text, integer, tableOptions }) => {
    const ofApplication = sql`, foreign key (application_id) references applications (application_id)`;
    const counts = (name: string, reference: RawBuilder<unknown>) => [
      sql`
        create table ${sql.table(name)} (
          application_id ${text} not null,
          key ${text} not null,
          failures ${integer} not null,
          under_way ${integer} not null,
          settled_by ${integer} not null,
          waits_until ${integer} not null,
          ends_at ${integer} not null,
          primary key (application_id, key)
          ${reference}
        ) ${tableOptions}`,
      sql`create index ${sql.ref(`${name}_end`)} on ${sql.table(name)} (ends_at)`,
    ];
    return [...counts("guess_counts", ofApplication), ...counts("deployment_guess_counts", sql``)];
  },
};
