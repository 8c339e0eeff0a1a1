import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/** How much callers have stored under idempotency keys, by the hour in which it expires. */
export const idempotencyUsage: Migration = {
  name: "0026-idempotency-usage",
  statements: ({ text, integer, tableOptions }) => [
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
    sql`
      insert into idempotency_usage (application_id, user_id, device_id, ends_at, bytes, keys)
      select application_id, user_id, device_id, (expires_at + 3599999) / 3600000 * 3600000,
        sum(length(reply) + length(key)), count(*)
      from kept_replies
      group by application_id, user_id, device_id, (expires_at + 3599999) / 3600000 * 3600000`,
    sql`create index idempotency_usage_by_end on idempotency_usage (ends_at)`,
  ],
};
