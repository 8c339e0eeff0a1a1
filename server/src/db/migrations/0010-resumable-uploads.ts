import { sql } from "kysely";
import type { Migration } from "./migration.ts";

/** Files that are uploaded in several requests. */
export const resumableUploads: Migration = {
  name: "0010-resumable-uploads",
  statements: ({ text, integer, tableOptions }) => [
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
  ],
};
