import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/** The operators of the deployment, who belong to no application. */
export const operators: Migration = {
  name: "0004-operators",
  statements: ({ text, integer, tableOptions }) => [
    sql`
      create table operators (
        id ${text} not null,
        name ${text} not null,
        created_at ${integer} not null,
        primary key (id),
        unique (name)
      ) ${tableOptions}`,
    sql`
      create table operator_tokens (
        digest ${text} not null,
        operator_id ${text} not null,
        created_at ${integer} not null,
        primary key (digest),
        foreign key (operator_id) references operators (id)
      ) ${tableOptions}`,
    sql`create index operator_tokens_of on operator_tokens (operator_id)`,
    sql`create index applications_live on applications (created_at, application_id) where deleted_at is null`,
  ],
};
