import { type RawBuilder, sql } from "kysely";
import type { Queries } from "./database.ts";
import type { Tables } from "./tables.ts";

/** By what the rows of a table are told apart from the others of their application, or of their owner in it. */
const rowKeys = {
  metadata: ["object_id", "slot", "key"],
  unfinished_erasures: ["object_id"],
  checkins: ["id"],
  identities: ["identifier"],
  location_shifts: ["id"],
  password_resets: ["user_id"],
  user_tokens: ["id"],
  users: ["id"],
  crash_reports: ["id"],
  devices: ["id"],
  application_keys: ["id"],
} as const satisfies Record<Exclude<keyof Tables, "applications">, readonly string[]>;

type ErasableTable = keyof typeof rowKeys;

/** Whose rows: the values of some columns. */
interface Owner {
  readonly application_id: string;
  readonly user_id?: string;
  readonly object_id?: string;
  readonly slot?: string;
}

/**
 * Deletes some of an owner's rows, about `count` of them. They are looked up first: in one statement PostgreSQL, as long as
 * it has no statistics of a table, looks up all of them again for each row of the owner.
 *
 * @param also narrows it down in the words of an index
 * @returns how many, 0 when there were none left
 */
export async function deleteSomeRows(
  table: ErasableTable,
  owner: Owner,
  count: number,
  queries: Queries,
  also: RawBuilder<unknown> = sql``,
): Promise<number> {
  const owned = sql.join(
    Object.entries(owner).map(([column, value]) => sql`${sql.ref(column)} = ${value}`),
    sql` and `,
  );
  const columns: readonly string[] = rowKeys[table];
  const key = sql.join(columns.map((column) => sql.ref(column)));
  const { rows } = await sql<Readonly<Record<string, string>>>`
    select ${key} from ${sql.table(table)} where ${owned} ${also} limit ${count}`.execute(queries);
  if (rows.length > 0) {
    const found = rows.map((row) => sql.join(columns.map((column) => sql`${row[column]}`)));
    const isFound =
      columns.length === 1
        ? sql`${key} in (${sql.join(found)})`
        : sql`(${key}) in (values ${sql.join(found.map((values) => sql`(${values})`))})`;
    await sql`delete from ${sql.table(table)} where ${owned} and ${isFound}`.execute(queries);
  }
  return rows.length;
}
