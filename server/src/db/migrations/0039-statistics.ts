import { type RawBuilder, sql } from "kysely";
import type { Migration } from "./migration.ts";

/** The activity of applications and of the whole deployment in each minute, hour and day (`statistics/tally.ts`). */
export const statistics: Migration = {
  name: "0039-statistics",
  statements: ({ text, integer, bytes, tableOptions }) => {
    const table = (name: string, reference: RawBuilder<unknown>) => [
      sql`
        create table ${sql.table(name)} (
          application_id ${text} not null,
          span ${integer} not null,
          starts_at ${integer} not null,
          writer ${text} not null,
          is_pending ${integer} not null,
          calls ${integer} not null,
          errors ${integer} not null,
          data ${bytes} not null,
          primary key (application_id, span, starts_at, writer)
          ${reference}
        ) ${tableOptions}`,
      sql`create index ${sql.ref(`${name}_pending`)} on ${sql.table(name)} (application_id, is_pending, span, starts_at)`,
    ];
    return [
      ...table("statistics", sql`, foreign key (application_id) references applications (application_id)`),
      sql`create index statistics_by_time on statistics (span, starts_at)`,
      ...table("deployment_statistics", sql``),
    ];
  },
};
