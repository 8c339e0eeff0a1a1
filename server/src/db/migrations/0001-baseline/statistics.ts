import { sql } from "kysely";
import type { Migration } from "../migration.ts";

/** Activity of applications and of the deployment, and counts that maintenance makes. */
export const statistics: Migration["statements"] = ({ text, integer, bytes, tableOptions }) => [
  sql`
    create table statistics (
      application_id ${text} not null,
      span ${integer} not null,
      starts_at ${integer} not null,
      writer ${text} not null,
      is_pending ${integer} not null,
      calls ${integer} not null,
      errors ${integer} not null,
      data ${bytes} not null,
      primary key (application_id, span, starts_at, writer),
      foreign key (application_id) references applications (application_id)
    ) ${tableOptions}`,
  sql`create index statistics_pending on statistics (application_id, is_pending, span, starts_at)`,
  sql`create index statistics_by_time on statistics (span, starts_at)`,

  sql`
    create table deployment_statistics (
      application_id ${text} not null,
      span ${integer} not null,
      starts_at ${integer} not null,
      writer ${text} not null,
      is_pending ${integer} not null,
      calls ${integer} not null,
      errors ${integer} not null,
      data ${bytes} not null,
      primary key (application_id, span, starts_at, writer)
    ) ${tableOptions}`,
  sql`
    create index deployment_statistics_pending
    on deployment_statistics (application_id, is_pending, span, starts_at)`,

  sql`
    create table kept_counts (
      application_id ${text} not null,
      kind ${text} not null,
      counted ${integer} not null,
      counted_at ${integer} not null,
      primary key (application_id, kind),
      foreign key (application_id) references applications (application_id)
    ) ${tableOptions}`,

  sql`
    create table app_versions (
      application_id ${text} not null,
      app_version ${text} not null,
      first_seen_at ${integer} not null,
      reports ${integer} not null,
      platforms ${text} not null default '[]',
      primary key (application_id, app_version),
      foreign key (application_id) references applications (application_id)
    ) ${tableOptions}`,
];
