import { type RawBuilder, sql } from "kysely";
import type { Migration } from "./migration.ts";

/**
 * Locations: places that users describe, and public ones without a user. Searches read an index in their order instead
 * of sorting, so each order has an index for own and one for shared rows: every field but the description, which is
 * neither an order nor a filter.
 */
export const locations: Migration = {
  name: "0033-locations",
  statements: ({ text, integer, real, tableOptions }) => [
    sql`
      create table locations (
        application_id ${text} not null references applications (application_id),
        id ${text} not null,
        user_id ${text},
        setter_id ${text},
        name ${text} not null,
        description ${text},
        address1 ${text},
        address2 ${text},
        city ${text},
        region ${text},
        country ${text},
        postal_code ${text},
        phone ${text},
        fax ${text},
        website ${text},
        category ${text},
        tag ${text},
        lat ${real} not null,
        lng ${real} not null,
        cell ${integer} not null,
        seen_lat ${real},
        seen_lng ${real},
        seen_cell ${integer} not null,
        read_permission ${integer},
        write_permission ${integer},
        created_at ${integer} not null,
        modified_at ${integer} not null,
        primary key (application_id, id),
        foreign key (application_id, user_id) references users (application_id, id)
      ) ${tableOptions}`,
    ...indexes("own", sql`user_id, `, sql``, { ...orders, cell: sql`cell` }),
    ...indexes("shared", sql``, sql` where read_permission = 1`, {
      ...orders,
      cell: sql`seen_cell`,
      by_user: sql`user_id, created_at`,
    }),
    // Operators list the others beside the shared ones.
    ...indexes("unshared", sql``, sql` where coalesce(read_permission, 0) <> 1`, { created: sql`created_at` }),

    // No reference to the location, whose flags are erased after it in bounded steps.
    sql`
      create table location_flags (
        application_id ${text} not null,
        id ${text} not null,
        object_id ${text} not null,
        user_id ${text} not null,
        reason ${text},
        comment ${text},
        created_at ${integer} not null,
        modified_at ${integer} not null,
        primary key (application_id, object_id, user_id),
        foreign key (application_id, user_id) references users (application_id, id)
      ) ${tableOptions}`,
    sql`create index location_flags_created on location_flags (application_id, created_at, id)`,
    sql`create index location_flags_by_location on location_flags (application_id, object_id, created_at, id)`,
    sql`create index location_flags_by_user on location_flags (application_id, user_id, created_at, id)`,

    sql`alter table checkins add column location_id ${text}`,
    sql`alter table checkins add column location_name ${text}`,
  ],
};

const texts = ["tag", "name", "address1", "address2", "city", "region", "country", "postal_code"] as const;
const otherTexts = ["phone", "fax", "website", "category"] as const;

const orders: Readonly<Record<string, RawBuilder<unknown>>> = {
  created: sql`created_at`,
  modified: sql`modified_at`,
  ...Object.fromEntries(
    [...texts, ...otherTexts].map((name) => [name, sql`coalesce(substr(${sql.ref(name)}, 1, 128), ''), created_at`]),
  ),
};

function indexes(
  scope: string,
  columns: RawBuilder<unknown>,
  where: RawBuilder<unknown>,
  ordered: Readonly<Record<string, RawBuilder<unknown>>>,
): RawBuilder<unknown>[] {
  return Object.entries(ordered).map(
    ([name, order]) =>
      sql`create index ${sql.raw(`locations_${scope}_${name}`)} on locations
        (application_id, ${columns}${order}, id)${where}`,
  );
}
