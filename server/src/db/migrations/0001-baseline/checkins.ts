import { sql } from "kysely";
import type { Migration } from "../migration.ts";
import { searchIndexes, textOrders } from "../search-indexes.ts";

const own = { prefix: "checkins_own", table: "checkins", columns: "application_id, user_id" };
const shared = { ...own, prefix: "checkins_shared", columns: "application_id", where: "read_permission = 1" };
const texts = textOrders("comment", "description", "tag");

/** Check-ins. */
export const checkins: Migration["statements"] = ({ text, integer, real, tableOptions }) => [
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
      setter_id ${text},
      tag ${text},
      read_permission ${integer},
      write_permission ${integer},
      cell ${integer},
      seen_lat ${real},
      seen_lng ${real},
      seen_cell ${integer},
      location_id ${text},
      location_name ${text},
      primary key (application_id, id),
      foreign key (application_id, user_id) references users (application_id, id)
    ) ${tableOptions}`,
  // The cell comes last, so that a walk in order of creation skips rows outside the area without reading them.
  sql`create index checkins_own_created on checkins (application_id, user_id, created_at, id, cell)`,
  ...searchIndexes(own, { modified: "modified_at", ...texts, cell: "cell" }),
  sql`
    create index checkins_shared_created on checkins (application_id, created_at, id, seen_cell)
    where read_permission = 1`,
  ...searchIndexes(shared, { modified: "modified_at", ...texts, cell: "seen_cell", by_user: "user_id, created_at" }),
  // Operators list shared and unshared rows. With an index of all rows in this order, an engine without statistics would walk
  // unshared rows in the searches of clients.
  sql`
    create index checkins_unshared_created on checkins (application_id, created_at, id)
    where coalesce(read_permission, 0) <> 1`,
];
