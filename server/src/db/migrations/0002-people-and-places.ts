import { type RawBuilder, sql } from "kysely";
import { cellOf } from "../../lib/cells.ts";
import type { Queries } from "../database.ts";
import type { Migration } from "./migration.ts";

/**
 * Profiles, devices' fields, crash reports, listed user tokens, password resets, permissions, and the indexes of the
 * searches: each begins with the owner or permission and continues in the order of the listing, so that no search
 * sorts.
 */
export const peopleAndPlaces: Migration = {
  name: "0002-people-and-places",
  statements: ({ text, integer, real, tableOptions }) => [
    sql`alter table applications add column settings ${text} not null default '{}'`,

    ...addColumns("devices", {
      model: text,
      os_version: text,
      app_version: text,
      push_token: text,
      connection_type: integer,
      is_production: integer,
      tag: text,
      lat: real,
      lng: real,
    }),
    sql`
      create table crash_reports (
        application_id ${text} not null,
        id ${text} not null,
        device_id ${text} not null,
        stack_trace ${text} not null,
        message ${text},
        method_name ${text},
        tag ${text},
        lat ${real},
        lng ${real},
        app_version ${text},
        os_version ${text},
        created_at ${integer} not null,
        primary key (application_id, id),
        foreign key (application_id, device_id) references devices (application_id, id)
      ) ${tableOptions}`,

    ...addColumns("users", {
      gender: integer,
      date_of_birth: integer,
      tag: text,
      lat: real,
      lng: real,
      cell: integer,
      seen_lat: real,
      seen_lng: real,
      seen_cell: integer,
      deleted_at: integer,
    }),
    sql`alter table users add column is_reshifting ${integer} not null default 0`,
    ...indexes("users", "shown", ["application_id"], sql` where celeb_mode = 0 and deleted_at is null`, {
      created: sql`created_at`,
      modified: sql`modified_at`,
      name: sql`user_name_key, created_at`,
      email: sql`${textKey("email")}, created_at`,
      first_name: sql`${textKey("first_name")}, created_at`,
      last_name: sql`${textKey("last_name")}, created_at`,
      gender: sql`coalesce(gender, -1), created_at`,
      cell: sql`seen_cell`,
    }),
    sql`create index users_unfinished on users (application_id, id) where deleted_at is not null or is_reshifting = 1`,

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
        primary key (application_id, user_id, id),
        foreign key (application_id, user_id) references users (application_id, id),
        foreign key (application_id, device_id) references devices (application_id, id)
      ) ${tableOptions}`,
    sql`create index user_tokens_by_expiry on user_tokens (expires_at)`,
    sql`drop table revoked_tokens`,

    sql`
      create table password_resets (
        application_id ${text} not null,
        user_id ${text} not null,
        digest ${text} not null,
        tries_left ${integer} not null,
        expires_at ${integer} not null,
        primary key (application_id, user_id),
        foreign key (application_id, user_id) references users (application_id, id)
      ) ${tableOptions}`,

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
        primary key (application_id, user_id, id),
        foreign key (application_id, user_id) references users (application_id, id)
      ) ${tableOptions}`,
    sql`create index location_shifts_by_cell on location_shifts (application_id, user_id, setter_id, cell)`,

    sql`alter table identities add column is_verified ${integer} not null default 0`,

    ...addColumns("checkins", {
      setter_id: text,
      tag: text,
      read_permission: integer,
      write_permission: integer,
      cell: integer,
      seen_lat: real,
      seen_lng: real,
      seen_cell: integer,
    }),
    // The cell comes last, so that a walk in order of creation skips rows outside the area without reading them.
    sql`drop index checkins_by_user`,
    sql`create index checkins_own_created on checkins (application_id, user_id, created_at, id, cell)`,
    ...indexes("checkins", "own", ["application_id", "user_id"], sql``, {
      modified: sql`modified_at`,
      comment: sql`${textKey("comment")}, created_at`,
      description: sql`${textKey("description")}, created_at`,
      tag: sql`${textKey("tag")}, created_at`,
      cell: sql`cell`,
    }),
    sql`create index checkins_shared_created on checkins (application_id, created_at, id, seen_cell)
      where read_permission = 1`,
    ...indexes("checkins", "shared", ["application_id"], sql` where read_permission = 1`, {
      modified: sql`modified_at`,
      comment: sql`${textKey("comment")}, created_at`,
      description: sql`${textKey("description")}, created_at`,
      tag: sql`${textKey("tag")}, created_at`,
      cell: sql`seen_cell`,
      by_user: sql`user_id, created_at`,
    }),
  ],

  async fill(queries: Queries) {
    const located = await queries.selectFrom("checkins").select(["application_id", "id", "lat", "lng"]).execute();
    for (const { application_id, id, lat, lng } of located) {
      await queries
        .updateTable("checkins")
        .set({ cell: cellOf({ lat, lng }), seen_cell: cellOf({ lat, lng }) })
        .where("application_id", "=", application_id)
        .where("id", "=", id)
        .execute();
    }
  },
};

function addColumns(table: string, columns: Readonly<Record<string, RawBuilder<unknown>>>): RawBuilder<unknown>[] {
  return Object.entries(columns).map(
    ([name, type]) => sql`alter table ${sql.table(table)} add column ${sql.ref(name)} ${type}`,
  );
}

/** The sort key of a text, truncated because index entries have a bounded size. Written as `db/search.ts` writes it. */
function textKey(column: string): RawBuilder<unknown> {
  return sql`coalesce(substr(${sql.ref(column)}, 1, 128), '')`;
}

function indexes(
  table: string,
  scope: string,
  columns: readonly string[],
  where: RawBuilder<unknown>,
  orders: Readonly<Record<string, RawBuilder<unknown>>>,
): RawBuilder<unknown>[] {
  const scopeColumns = sql.join(columns.map((column) => sql.ref(column)));
  return Object.entries(orders).map(
    ([name, order]) =>
      sql`create index ${sql.raw(`${table}_${scope}_${name}`)} on ${sql.table(table)} (${scopeColumns}, ${order}, id)${where}`,
  );
}
