import { sql } from "kysely";
import type { Migration } from "../migration.ts";
import { searchIndexes, textOrders } from "../search-indexes.ts";

const own = { prefix: "locations_own", table: "locations", columns: "application_id, user_id" };
const shared = { ...own, prefix: "locations_shared", columns: "application_id", where: "read_permission = 1" };
/** Every field but the description, which is neither an order nor a filter. */
const orders = {
  created: "created_at",
  modified: "modified_at",
  ...textOrders("tag", "name", "address1", "address2", "city", "region", "country", "postal_code"),
  ...textOrders("phone", "fax", "website", "category"),
};

/** Locations: places that users describe, and public ones without a user. */
export const locations: Migration["statements"] = ({ text, integer, real, tableOptions }) => [
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
  ...searchIndexes(own, { ...orders, cell: "cell" }),
  ...searchIndexes(shared, { ...orders, cell: "seen_cell", by_user: "user_id, created_at" }),
  // As of check-ins.
  sql`
    create index locations_unshared_created on locations (application_id, created_at, id)
    where coalesce(read_permission, 0) <> 1`,

  // Without a reference to the location, whose flags are erased after it in bounded steps.
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
];
