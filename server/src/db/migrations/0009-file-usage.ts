import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/** How many bytes users and applications have stored. */
export const fileUsage: Migration = {
  name: "0009-file-usage",
  statements: ({ text, integer, tableOptions }) => [
    sql`
      create table file_usage (
        application_id ${text} not null,
        user_id ${text} not null,
        bytes ${integer} not null,
        files ${integer} not null,
        primary key (application_id, user_id),
        foreign key (application_id) references applications (application_id)
      ) ${tableOptions}`,
    sql`
      insert into file_usage (application_id, user_id, bytes, files)
      select application_id, user_id, sum(content_length), count(*) from files group by application_id, user_id`,
    sql`
      insert into file_usage (application_id, user_id, bytes, files)
      select application_id, '', sum(content_length), count(*) from files group by application_id`,
  ],
};
