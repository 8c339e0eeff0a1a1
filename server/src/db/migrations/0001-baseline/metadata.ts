import { sql } from "kysely";
import type { Migration } from "../migration.ts";

/** Metadata, and the objects whose metadata is being erased. */
export const metadata: Migration["statements"] = ({ text, integer, real, tableOptions }) => [
  sql`
    create table metadata (
      application_id ${text} not null references applications (application_id),
      object_id ${text} not null,
      slot ${text} not null,
      key ${text} not null,
      value ${text},
      number ${real},
      setter_id ${text},
      lat ${real},
      lng ${real},
      cell ${integer},
      seen_lat ${real},
      seen_lng ${real},
      seen_cell ${integer},
      created_at ${integer} not null,
      modified_at ${integer} not null,
      primary key (application_id, object_id, slot, key)
    ) ${tableOptions}`,
  // The condition holds for every row, and only listings repeat it: without table statistics PostgreSQL considers these indexes
  // as good as the primary key for looking up one key, and would scan all keys of the object.
  sql`
    create index metadata_created on metadata (application_id, object_id, slot, created_at, key)
    where length(key) > 0`,
  sql`
    create index metadata_modified on metadata (application_id, object_id, slot, modified_at, key)
    where length(key) > 0`,
  sql`create index metadata_cell on metadata (application_id, object_id, slot, cell, key) where cell is not null`,
  sql`
    create index metadata_seen_cell on metadata (application_id, object_id, slot, seen_cell, key)
    where seen_cell is not null`,
  // All of a user's metadata, for erasing the user and for changes of locationFuzzing.
  sql`create index metadata_of_user on metadata (application_id, slot, object_id, key) where slot <> ''`,
  sql`
    create index metadata_located_by on metadata (application_id, setter_id, object_id, key)
    where setter_id is not null`,

  sql`
    create table unfinished_erasures (
      application_id ${text} not null references applications (application_id),
      object_id ${text} not null,
      primary key (application_id, object_id)
    ) ${tableOptions}`,
];
