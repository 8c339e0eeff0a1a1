import { sql } from "kysely";
import type { Migration } from "../migration.ts";

/** Applications, the keys of their apps, and the region of each. */
export const applications: Migration["statements"] = ({ text, integer, tableOptions }) => [
  sql`
    create table applications (
      application_id ${text} not null primary key,
      name ${text} not null,
      token_version ${integer} not null,
      created_at ${integer} not null,
      deleted_at ${integer},
      settings ${text} not null default '{}',
      suspended_at ${integer},
      signing_secret ${text},
      key_generation ${integer} not null default 0,
      importing_until ${integer},
      moving_to ${text},
      public_only ${text},
      sealed_settings ${text},
      revision ${text} not null default '',
      renews_tokens ${integer} not null default 0,
      settings_changes ${text}
    ) ${tableOptions}`,
  sql`create index applications_live on applications (created_at, application_id) where deleted_at is null`,
  sql`create index applications_live_name on applications (name, application_id) where deleted_at is null`,
  sql`create index applications_live_lower_name on applications (lower(name), application_id) where deleted_at is null`,
  sql`
    create index applications_arriving on applications (created_at, application_id)
    where importing_until is not null or moving_to is not null`,

  sql`
    create table application_keys (
      application_id ${text} not null references applications (application_id),
      id ${text} not null,
      digest ${text} not null,
      token_version ${integer} not null,
      created_at ${integer} not null,
      generation ${integer} not null default 0,
      label ${text},
      retired_at ${integer},
      primary key (application_id, id),
      unique (application_id, digest)
    ) ${tableOptions}`,
  sql`create index application_keys_lower_label on application_keys (application_id, lower(label), id)`,

  sql`
    create table application_regions (
      application_id ${text} not null,
      region ${text} not null,
      state ${text} not null,
      changed_at ${integer} not null,
      primary key (application_id)
    ) ${tableOptions}`,
];
