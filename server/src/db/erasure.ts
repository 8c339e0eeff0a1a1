import { sql } from "kysely";
import type { Queries } from "./database.ts";
import type { deploymentTables, Tables } from "./tables.ts";

/** By what some rows of a table are told apart from the others of their owner. */
const idColumns = {
  metric_inbox: "id",
  metric_handles: "id",
  metric_chunks: "id",
  metric_rollups: "id",
  metric_keys: "key",
  metric_batches: "id",
  checkins: "id",
  identities: "identifier",
  location_shifts: "id",
  password_resets: "user_id",
  user_tokens: "id",
  users: "id",
  crash_reports: "id",
  devices: "id",
  application_keys: "id",
} as const satisfies Record<Exclude<keyof Tables, "applications" | (typeof deploymentTables)[number]>, string>;

/** So many at once where a row may be large. */
const largeRowsMax: { readonly [Table in keyof typeof idColumns]?: number } = {
  metric_inbox: 20,
  metric_chunks: 50,
  metric_rollups: 50,
};

/**
 * Deletes some of an owner's rows, about `count` of them, fewer of large ones. They are looked up first: in one statement
 * PostgreSQL, as long as it has no statistics of a table, looks up all of them again for each row of the owner.
 *
 * @returns how many, 0 when there were none left
 */
export async function deleteSomeRows(
  table: keyof typeof idColumns,
  owner: { readonly application_id: string; readonly user_id?: string },
  count: number,
  queries: Queries,
): Promise<number> {
  const owned = sql.join(
    Object.entries(owner).map(([column, value]) => sql`${sql.ref(column)} = ${value}`),
    sql` and `,
  );
  const id = sql.ref(idColumns[table]);
  const { rows } = await sql<{ id: string }>`
    select ${id} as id from ${sql.table(table)} where ${owned} limit ${Math.min(count, largeRowsMax[table] ?? count)}`.execute(
    queries,
  );
  if (rows.length > 0) {
    const ids = sql.join(rows.map((row) => sql`${row.id}`));
    await sql`delete from ${sql.table(table)} where ${owned} and ${id} in (${ids})`.execute(queries);
  }
  return rows.length;
}
