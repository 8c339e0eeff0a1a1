import { type RawBuilder, sql } from "kysely";
import type { Migration } from "./migration.ts";

/**
 * Indexes on the fields that only videos have: partial indexes, which cost other files nothing. A statement uses one
 * only if it repeats the condition on the kind as a literal.
 */
export const videoOrders: Migration = {
  name: "0011-video-orders",
  statements: () => Object.entries(orders).flatMap(([name, order]) => indexes(name, order)),
};

const orders: Readonly<Record<string, RawBuilder<unknown>>> = {
  bit_rate: sql`coalesce(bit_rate, -1)`,
  length: sql`coalesce(length_in_seconds, -1)`,
  thumbnail: sql`coalesce(substr(thumbnail_id, 1, 128), '')`,
};

function indexes(name: string, order: RawBuilder<unknown>): RawBuilder<unknown>[] {
  const [own, shared] = [sql.raw(`videos_own_${name}`), sql.raw(`videos_shared_${name}`)];
  return [
    sql`create index ${own} on files (application_id, user_id, kind, ${order}, created_at, id) where kind = 'Video'`,
    sql`
      create index ${shared} on files (application_id, kind, ${order}, created_at, id)
      where read_permission = 1 and kind = 'Video'`,
  ];
}
