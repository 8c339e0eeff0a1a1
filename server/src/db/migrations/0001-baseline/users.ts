import { sql } from "kysely";
import type { Migration } from "../migration.ts";
import { searchIndexes, textOrders } from "../search-indexes.ts";

/** The users that other users find. */
const shown = {
  prefix: "users_shown",
  table: "users",
  columns: "application_id",
  where: "celeb_mode = 0 and deleted_at is null",
};
/** The users that operators list. Their names have an index already, for uniqueness. */
const all = { prefix: "users_all", table: "users", columns: "application_id", where: "deleted_at is null" };

/** Users, their identities and tokens, and what protects their sign-ins and locations. */
export const users: Migration["statements"] = ({ text, integer, real, tableOptions }) => [
  sql`
    create table users (
      application_id ${text} not null references applications (application_id),
      id ${text} not null,
      user_name ${text} not null,
      user_name_key ${text} not null,
      password_hash ${text} not null,
      email ${text},
      first_name ${text},
      last_name ${text},
      celeb_mode ${integer} not null,
      location_fuzzing ${integer} not null,
      token_version ${integer} not null,
      last_login_at ${integer} not null,
      created_at ${integer} not null,
      modified_at ${integer} not null,
      gender ${integer},
      date_of_birth ${integer},
      tag ${text},
      lat ${real},
      lng ${real},
      cell ${integer},
      seen_lat ${real},
      seen_lng ${real},
      seen_cell ${integer},
      deleted_at ${integer},
      is_reshifting ${integer} not null default 0,
      profile_picture_id ${text},
      is_picture_shared ${integer} not null default 0,
      disabled_at ${integer},
      held_email ${text},
      held_until ${integer},
      email_changed_at ${integer},
      shift_generation ${integer} not null default 0,
      primary key (application_id, id),
      unique (application_id, user_name_key)
    ) ${tableOptions}`,
  ...searchIndexes(shown, {
    created: "created_at",
    modified: "modified_at",
    name: "user_name_key, created_at",
    ...textOrders("email", "first_name", "last_name"),
    gender: "coalesce(gender, -1), created_at",
    cell: "seen_cell",
  }),
  sql`create index users_unfinished on users (application_id, id) where deleted_at is not null or is_reshifting = 1`,
  ...searchIndexes(all, { created: "created_at", modified: "modified_at", ...textOrders("email") }),
  sql`
    create index users_all_disabled on users (application_id, created_at, id)
    where disabled_at is not null and deleted_at is null`,
  sql`create index users_all_login on users (application_id, last_login_at, id) where deleted_at is null`,
  // Deleted users whose data is still being erased.
  sql`create index users_deleted on users (application_id, deleted_at, id) where deleted_at is not null`,

  sql`
    create table identities (
      application_id ${text} not null,
      provider ${text} not null,
      identifier ${text} not null,
      user_id ${text} not null,
      created_at ${integer} not null,
      is_verified ${integer} not null default 0,
      primary key (application_id, provider, identifier),
      foreign key (application_id, user_id) references users (application_id, id)
    ) ${tableOptions}`,
  sql`create index identities_by_user on identities (application_id, user_id, created_at, provider, identifier)`,
  // With the user, because SQLite without statistics would otherwise walk an index of all identities.
  sql`create index identities_of_identifier on identities (application_id, identifier, user_id)`,

  sql`
    create table user_tokens (
      application_id ${text} not null,
      user_id ${text} not null,
      id ${text} not null,
      device_id ${text} not null,
      user_version ${integer} not null,
      created_at ${integer} not null,
      last_used_at ${integer} not null,
      expires_at ${integer} not null,
      renewals ${integer} not null default 0,
      first_uses ${text},
      primary key (application_id, user_id, id),
      foreign key (application_id, user_id) references users (application_id, id),
      foreign key (application_id, device_id) references devices (application_id, id)
    ) ${tableOptions}`,
  sql`create index user_tokens_by_expiry on user_tokens (expires_at)`,
  sql`create index user_tokens_of_device on user_tokens (application_id, device_id, user_id, id)`,

  sql`
    create table password_resets (
      application_id ${text} not null,
      user_id ${text} not null,
      digest ${text} not null,
      tries_left ${integer} not null,
      expires_at ${integer} not null,
      created_at ${integer} not null default 0,
      primary key (application_id, user_id),
      foreign key (application_id, user_id) references users (application_id, id)
    ) ${tableOptions}`,

  // Password guessing from elsewhere does not delay these devices.
  sql`
    create table recognized_devices (
      application_id ${text} not null,
      user_id ${text} not null,
      device_id ${text} not null,
      recognized_at ${integer} not null,
      primary key (application_id, user_id, device_id),
      foreign key (application_id) references applications (application_id)
    ) ${tableOptions}`,

  // A purpose of locationFuzzing has a secret, and another one when the old one may have leaked. Stored fuzzed locations stay: a
  // second one for the same place would narrow down the true location.
  sql`
    create table location_shifts (
      application_id ${text} not null,
      user_id ${text} not null,
      id ${text} not null,
      setter_id ${text} not null,
      lat ${real} not null,
      lng ${real} not null,
      cell ${integer} not null,
      bearing ${real} not null,
      secret ${text} not null default '',
      primary key (application_id, user_id, id),
      foreign key (application_id, user_id) references users (application_id, id)
    ) ${tableOptions}`,
  sql`create index location_shifts_by_cell on location_shifts (application_id, user_id, setter_id, cell)`,
  sql`create index location_shifts_by_secret on location_shifts (application_id, user_id, setter_id, secret, cell, id)`,
];
