import { sql } from "kysely";
import type { Migration } from "../migration.ts";

/** The buckets of limits and the failed sign-ins, of applications and of the deployment: all processes share them. */
export const limits: Migration["statements"] = ({ text, integer, real, tableOptions }) => [
  sql`
    create table limit_buckets (
      application_id ${text} not null,
      key ${text} not null,
      missing ${real} not null,
      at ${integer} not null,
      ends_at ${integer} not null,
      primary key (application_id, key),
      foreign key (application_id) references applications (application_id)
    ) ${tableOptions}`,
  sql`create index limit_buckets_end on limit_buckets (ends_at)`,

  sql`
    create table deployment_limit_buckets (
      application_id ${text} not null,
      key ${text} not null,
      missing ${real} not null,
      at ${integer} not null,
      ends_at ${integer} not null,
      primary key (application_id, key)
    ) ${tableOptions}`,
  sql`create index deployment_limit_buckets_end on deployment_limit_buckets (ends_at)`,

  sql`
    create table guess_counts (
      application_id ${text} not null,
      key ${text} not null,
      failures ${integer} not null,
      under_way ${integer} not null,
      settled_by ${integer} not null,
      waits_until ${integer} not null,
      ends_at ${integer} not null,
      primary key (application_id, key),
      foreign key (application_id) references applications (application_id)
    ) ${tableOptions}`,
  sql`create index guess_counts_end on guess_counts (ends_at)`,

  sql`
    create table deployment_guess_counts (
      application_id ${text} not null,
      key ${text} not null,
      failures ${integer} not null,
      under_way ${integer} not null,
      settled_by ${integer} not null,
      waits_until ${integer} not null,
      ends_at ${integer} not null,
      primary key (application_id, key)
    ) ${tableOptions}`,
  sql`create index deployment_guess_counts_end on deployment_guess_counts (ends_at)`,
];
