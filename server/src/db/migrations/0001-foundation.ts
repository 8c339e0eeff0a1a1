import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/** Applications and their keys, devices, users, revoked tokens, identities, check-ins. */
export const foundation: Migration = {
  name: "0001-foundation",
  statements: ({ text, integer, real, tableOptions }) => [
    sql`
      create table applications (
        application_id ${text} not null primary key,
        name ${text} not null,
        token_version ${integer} not null,
        created_at ${integer} not null,
        deleted_at ${integer}
      ) ${tableOptions}`,

    sql`
      create table application_keys (
        application_id ${text} not null references applications (application_id),
        id ${text} not null,
        digest ${text} not null,
        token_version ${integer} not null,
        created_at ${integer} not null,
        primary key (application_id, id),
        unique (application_id, digest)
      ) ${tableOptions}`,

    sql`
      create table devices (
        application_id ${text} not null references applications (application_id),
        id ${text} not null,
        unique_id ${text},
        platform ${text} not null,
        token_version ${integer} not null,
        created_at ${integer} not null,
        modified_at ${integer} not null,
        primary key (application_id, id),
        unique (application_id, unique_id)
      ) ${tableOptions}`,

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
        primary key (application_id, id),
        unique (application_id, user_name_key)
      ) ${tableOptions}`,

    sql`
      create table revoked_tokens (
        application_id ${text} not null references applications (application_id),
        token_id ${text} not null,
        expires_at ${integer} not null,
        primary key (application_id, token_id)
      ) ${tableOptions}`,
    sql`create index revoked_tokens_by_expiry on revoked_tokens (expires_at)`,

    sql`
      create table identities (
        application_id ${text} not null,
        provider ${text} not null,
        identifier ${text} not null,
        user_id ${text} not null,
        created_at ${integer} not null,
        primary key (application_id, provider, identifier),
        foreign key (application_id, user_id) references users (application_id, id)
      ) ${tableOptions}`,
    sql`create index identities_by_user on identities (application_id, user_id, created_at, provider, identifier)`,

    sql`
      create table checkins (
        application_id ${text} not null,
        id ${text} not null,
        user_id ${text} not null,
        lat ${real} not null,
        lng ${real} not null,
        comment ${text},
        description ${text},
        created_at ${integer} not null,
        modified_at ${integer} not null,
        primary key (application_id, id),
        foreign key (application_id, user_id) references users (application_id, id)
      ) ${tableOptions}`,
    sql`create index checkins_by_user on checkins (application_id, user_id, created_at, id)`,
  ],
};
