import { sql } from "kysely";
import type { Migration } from "../migration.ts";
import { searchIndexes, textKey, textOrders } from "../search-indexes.ts";

const own = { table: "files", columns: "application_id, user_id, kind" };
const shared = { table: "files", columns: "application_id, kind", where: "read_permission = 1" };
const orders = { created: "created_at", modified: "modified_at", ...textOrders("tag", "title", "detail") };

/**
 * Indexes on a field that files of one kind have: partial indexes, which cost other files nothing. A statement uses one
 * only if it repeats the condition on the kind as a literal.
 */
function ofKind(collection: string, kind: string, name: string, order: string) {
  const isKind = `kind = '${kind}'`;
  const orders = { [name]: `${order}, created_at` };
  return [
    ...searchIndexes({ ...own, prefix: `${collection}_own`, where: isKind }, orders),
    ...searchIndexes({ ...shared, prefix: `${collection}_shared`, where: `read_permission = 1 and ${isKind}` }, orders),
  ];
}

/** Files, their usage, unfinished uploads, orphaned objects. The bytes themselves are in the object store (`storage/`). */
export const files: Migration["statements"] = ({ text, integer, real, tableOptions }) => [
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
      label ${text},
      primary key (application_id, id),
      foreign key (application_id, user_id) references users (application_id, id)
    ) ${tableOptions}`,
  sql`create index files_of_user on files (application_id, user_id, id)`,
  ...searchIndexes({ ...own, prefix: "files_own" }, { ...orders, cell: "cell" }),
  ...searchIndexes(
    { ...shared, prefix: "files_shared" },
    { ...orders, cell: "seen_cell", by_user: "user_id, created_at" },
  ),
  ...ofKind("videos", "Video", "bit_rate", "coalesce(bit_rate, -1)"),
  ...ofKind("videos", "Video", "length", "coalesce(length_in_seconds, -1)"),
  ...ofKind("videos", "Video", "thumbnail", textKey("thumbnail_id")),
  // As of check-ins.
  sql`
    create index files_unshared_created on files (application_id, kind, created_at, id)
    where coalesce(read_permission, 0) <> 1`,
  ...ofKind("pictures", "Picture", "watermark", textKey("label")),
  ...ofKind("videos", "Video", "friendly_name", textKey("label")),

  sql`
    create table file_usage (
      application_id ${text} not null,
      user_id ${text} not null,
      bytes ${integer} not null,
      files ${integer} not null,
      primary key (application_id, user_id),
      foreign key (application_id) references applications (application_id)
    ) ${tableOptions}`,

  sql`
    create table resumable_uploads (
      application_id ${text} not null,
      id ${text} not null,
      user_id ${text} not null,
      metadata ${text} not null,
      length ${integer} not null,
      received ${integer} not null,
      segments ${integer} not null,
      finishing_until ${integer} not null,
      created_at ${integer} not null,
      expires_at ${integer} not null,
      is_test ${integer} not null default 0,
      primary key (application_id, id),
      foreign key (application_id, user_id) references users (application_id, id)
    ) ${tableOptions}`,
  sql`create index resumable_uploads_of_user on resumable_uploads (application_id, user_id, id)`,
  sql`create index resumable_uploads_by_expiry on resumable_uploads (expires_at)`,
  sql`create index whole_resumable_uploads on resumable_uploads (finishing_until) where received = length`,

  sql`
    create table upload_segments (
      application_id ${text} not null,
      upload_id ${text} not null,
      first_byte ${integer} not null,
      key ${text} not null,
      primary key (application_id, upload_id, first_byte),
      foreign key (application_id, upload_id) references resumable_uploads (application_id, id)
    ) ${tableOptions}`,

  sql`
    create table loose_bytes (
      application_id ${text} not null,
      key ${text} not null,
      loose_at ${integer} not null,
      primary key (application_id, key),
      foreign key (application_id) references applications (application_id)
    ) ${tableOptions}`,
  sql`create index loose_bytes_by_age on loose_bytes (loose_at)`,
];
