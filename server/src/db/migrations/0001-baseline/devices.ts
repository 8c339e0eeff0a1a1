import { sql } from "kysely";
import type { Migration } from "../migration.ts";

/** Devices, and the devices and users that operators make to try calls. */
export const devices: Migration["statements"] = ({ text, integer, real, tableOptions }) => [
  sql`
    create table devices (
      application_id ${text} not null references applications (application_id),
      id ${text} not null,
      unique_id ${text},
      platform ${text} not null,
      token_version ${integer} not null,
      created_at ${integer} not null,
      modified_at ${integer} not null,
      model ${text},
      os_version ${text},
      app_version ${text},
      push_token ${text},
      connection_type ${integer},
      is_production ${integer},
      tag ${text},
      lat ${real},
      lng ${real},
      key_id ${text},
      registered_at ${integer},
      push_token_by ${text},
      last_seen_at ${integer},
      primary key (application_id, id),
      unique (application_id, unique_id)
    ) ${tableOptions}`,
  sql`create index devices_of_key on devices (application_id, key_id, registered_at)`,
  sql`create index devices_all_created on devices (application_id, created_at, id)`,
  sql`create index devices_all_key on devices (application_id, coalesce(key_id, ''), created_at, id)`,
  sql`create index devices_all_seen on devices (application_id, last_seen_at, id)`,
  sql`create index devices_of_key_seen on devices (application_id, key_id, last_seen_at)`,

  sql`
    create table test_callers (
      application_id ${text} not null,
      device_id ${text} not null,
      user_id ${text},
      ends_at ${integer} not null,
      primary key (application_id, device_id),
      foreign key (application_id) references applications (application_id)
    ) ${tableOptions}`,
  sql`create index test_callers_by_end on test_callers (ends_at)`,
];
