import { sql } from "kysely";
import type { Migration } from "../migration.ts";

/** Metric events: as received, in chunks by key and hour, and rolled up. */
export const metrics: Migration["statements"] = ({ text, integer, bytes, tableOptions }) => [
  sql`
    create table metric_inbox (
      application_id ${text} not null references applications (application_id),
      id ${text} not null,
      received_at ${integer} not null,
      payload ${text} not null,
      primary key (application_id, id)
    ) ${tableOptions}`,

  sql`
    create table metric_handles (
      application_id ${text} not null references applications (application_id),
      id ${text} not null,
      key ${text} not null,
      device_id ${text} not null,
      user_id ${text},
      occurred_at ${integer} not null,
      started_at ${integer} not null,
      expires_at ${integer},
      ended_at ${integer},
      primary key (application_id, id),
      foreign key (application_id, user_id) references users (application_id, id)
    ) ${tableOptions}`,
  sql`create index metric_handles_by_user on metric_handles (application_id, user_id, id) where user_id is not null`,

  sql`
    create table metric_chunks (
      application_id ${text} not null references applications (application_id),
      id ${text} not null,
      event_count ${integer} not null,
      payload ${text} not null,
      primary key (application_id, id)
    ) ${tableOptions}`,
  sql`create index metric_chunks_small on metric_chunks (application_id, id) where event_count < 64`,

  sql`
    create table metric_rollups (
      application_id ${text} not null references applications (application_id),
      id ${text} not null,
      dimension ${text} not null,
      data ${bytes} not null,
      primary key (application_id, id)
    ) ${tableOptions}`,

  sql`
    create table metric_keys (
      application_id ${text} not null references applications (application_id),
      key ${text} not null,
      event_count ${integer} not null,
      earliest_at ${integer} not null,
      last_received_at ${integer} not null,
      stored_bytes ${integer},
      primary key (application_id, key)
    ) ${tableOptions}`,

  sql`
    create table metric_batches (
      application_id ${text} not null primary key references applications (application_id),
      id ${text} not null,
      row_ids ${text} not null,
      done_until ${text} not null,
      leased_until ${integer} not null
    ) ${tableOptions}`,
];
