import { type RawBuilder, sql } from "kysely";
import type { Migration } from "./migration.ts";

/** Files and orphaned objects. The bytes themselves are in the object store (`storage/`). */
export const files: Migration = {
  name: "0008-files",
  statements: ({ text, integer, real, tableOptions }) => [
    sql`
      create table files (
        application_id ${text} not null,
        id ${text} not null,
        kind ${text} not null,
        user_id ${text} not null,
        setter_id ${text},
        content_type ${text} not null,
        content_length ${integer} not null,
        content_hash ${text} not null,
        file_name ${text},
        title ${text},
        detail ${text},
        bit_rate ${integer},
        length_in_seconds ${real},
        thumbnail_id ${text},
        width ${integer},
        height ${integer},
        tag ${text},
        lat ${real},
        lng ${real},
        cell ${integer},
        seen_lat ${real},
        seen_lng ${real},
        seen_cell ${integer},
        read_permission ${integer},
        write_permission ${integer},
        created_at ${integer} not null,
        modified_at ${integer} not null,
        primary key (application_id, id),
        foreign key (application_id, user_id) references users (application_id, id)
      ) ${tableOptions}`,
    sql`create index files_of_user on files (application_id, user_id, id)`,
    ...indexes("own", ["application_id", "user_id", "kind"], sql``, { ...orders, cell: sql`cell` }),
    ...indexes("shared", ["application_id", "kind"], sql` where read_permission = 1`, {
      ...orders,
      cell: sql`seen_cell`,
      by_user: sql`user_id, created_at`,
    }),
    sql`
      create table loose_bytes (
        application_id ${text} not null,
        key ${text} not null,
        loose_at ${integer} not null,
        primary key (application_id, key),
        foreign key (application_id) references applications (application_id)
      ) ${tableOptions}`,
    sql`create index loose_bytes_by_age on loose_bytes (loose_at)`,
  ],
};

const orders: Readonly<Record<string, RawBuilder<unknown>>> = {
  created: sql`created_at`,
  modified: sql`modified_at`,
  tag: sql`coalesce(substr(tag, 1, 128), ''), created_at`,
  title: sql`coalesce(substr(title, 1, 128), ''), created_at`,
  detail: sql`coalesce(substr(detail, 1, 128), ''), created_at`,
};

function indexes(
  scope: string,
  columns: readonly string[],
  where: RawBuilder<unknown>,
  ordered: Readonly<Record<string, RawBuilder<unknown>>>,
): RawBuilder<unknown>[] {
  const scopeColumns = sql.join(columns.map((column) => sql.ref(column)));
  return Object.entries(ordered).map(
    ([name, order]) =>
      sql`create index ${sql.raw(`files_${scope}_${name}`)} on files (${scopeColumns}, ${order}, id)${where}`,
  );
}
