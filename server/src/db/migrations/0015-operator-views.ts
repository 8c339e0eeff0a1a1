import { type RawBuilder, sql } from "kysely";
import type { Migration } from "./migration.ts";

/**
 * Indexes for what operators list of an application, regardless of permissions. An order that has an index already gets
 * none: user names, and the check-ins and files of one user. Tables that clients write often are listed by creation
 * alone, whose index grows only at its end.
 */
export const operatorViews: Migration = {
  name: "0015-operator-views",
  statements: () => [
    ...indexes("users", sql` where deleted_at is null`, {
      created: sql`created_at`,
      modified: sql`modified_at`,
      email: sql`${textKey("email")}, created_at`,
    }),
    ...indexes("users", sql` where disabled_at is not null and deleted_at is null`, { disabled: sql`created_at` }),
    ...indexes("devices", sql``, {
      created: sql`created_at`,
      key: sql`coalesce(key_id, ''), created_at`,
    }),
    ...indexes("checkins", sql``, { created: sql`created_at` }),
    ...indexes("files", sql``, { created: sql`kind, created_at` }),
  ],
};

/** Written as `db/conditions.ts` writes it. */
function textKey(column: string): RawBuilder<unknown> {
  return sql`coalesce(substr(${sql.ref(column)}, 1, 128), '')`;
}

function indexes(
  table: string,
  where: RawBuilder<unknown>,
  orders: Readonly<Record<string, RawBuilder<unknown>>>,
): RawBuilder<unknown>[] {
  return Object.entries(orders).map(
    ([name, order]) =>
      sql`create index ${sql.raw(`${table}_all_${name}`)} on ${sql.table(table)} (application_id, ${order}, id)${where}`,
  );
}
