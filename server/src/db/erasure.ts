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
  crash_group_devices: ["fingerprint", "device_id"],
  crash_group_versions: ["fingerprint", "app_version"],
  crash_groups: "fingerprint",
  crash_reports: "id",
  devices: "id",
  application_keys: "id",
} as const satisfies Record<
  Exclude<keyof Tables, "applications" | (typeof deploymentTables)[number]>,
  string | readonly string[]
>;

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
  const some = Math.min(count, largeRowsMax[table] ?? count);
  const columns = [idColumns[table]].flat();
  const id = sql.join(columns.map((column) => sql.ref(column)));
  const { rows } = await sql<Readonly<Record<string, string>>>`
    select ${id} from ${sql.table(table)} where ${owned} limit ${some}`.execute(queries);
  if (rows.length > 0) {
    const ids = rows.map((row) => sql.join(columns.map((column) => sql`${row[column]}`)));
    const found = columns.length === 1 ? sql.join(ids) : sql`values ${sql.join(ids.map((values) => sql`(${values})`))}`;
    await sql`delete from ${sql.table(table)} where ${owned} and (${id}) in (${found})`.execute(queries);
  }
  return rows.length;
}
