import { type RawBuilder, sql } from "kysely";

/** Values of the columns that identify a row. */
export type RowKey = Readonly<Record<string, string | number>>;

/** A condition that matches the row with this key. */
export function isKey(key: RowKey): RawBuilder<unknown> {
  const equalities = Object.entries(key).map(([column, value]) => sql`${sql.ref(column)} = ${value}`);
  return sql.join(equalities, sql` and `);
}
