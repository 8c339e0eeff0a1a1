import { type RawBuilder, sql } from "kysely";
import type { Migration } from "./migration.ts";

/**
 * The watermark of a picture, the friendlyName of a video, and the token that set the push token of a device. Each
 * index holds one kind alone, as in `0011-video-orders.ts`; a statement uses it only if it repeats the condition on the
 * kind as a literal.
 */
export const shippedClients: Migration = {
  name: "0025-shipped-clients",
  statements: ({ text }) => [
    sql`alter table devices add column push_token_by ${text}`,
    sql`alter table files add column label ${text}`,
    ...indexes("pictures", "watermark", sql`'Picture'`),
    ...indexes("videos", "friendly_name", sql`'Video'`),
  ],
};

function indexes(collection: string, name: string, kind: RawBuilder<unknown>): RawBuilder<unknown>[] {
  const [own, shared] = [sql.raw(`${collection}_own_${name}`), sql.raw(`${collection}_shared_${name}`)];
  const order = sql`coalesce(substr(label, 1, 128), ''), created_at, id`;
  return [
    sql`create index if not exists ${own} on files (application_id, user_id, kind, ${order}) where kind = ${kind}`,
    sql`
      create index if not exists ${shared} on files (application_id, kind, ${order})
      where read_permission = 1 and kind = ${kind}`,
  ];
}
