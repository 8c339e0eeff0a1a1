import { sql } from "kysely";
import type { Migration } from "../migration.ts";

/** Stored responses of idempotency keys, and how much each caller has stored. */
export const idempotency: Migration["statements"] = ({ text, integer, tableOptions }) => [
  sql`
    create table kept_replies (
      application_id ${text} not null,
      user_id ${text} not null,
      device_id ${text} not null,
      key ${text} not null,
      reply ${text} not null,
      expires_at ${integer} not null,
      primary key (application_id, user_id, device_id, key),
      foreign key (application_id) references applications (application_id)
    ) ${tableOptions}`,
  sql`create index kept_replies_by_expiry on kept_replies (expires_at)`,

  sql`
    create table idempotency_usage (
      application_id ${text} not null,
      user_id ${text} not null,
      device_id ${text} not null,
      ends_at ${integer} not null,
      bytes ${integer} not null,
      keys ${integer} not null,
      primary key (application_id, user_id, device_id, ends_at),
      foreign key (application_id) references applications (application_id)
    ) ${tableOptions}`,
  sql`create index idempotency_usage_by_end on idempotency_usage (ends_at)`,
];
