import { type RawBuilder, sql } from "kysely";
import type { Database, Queries } from "./database.ts";
import { isKey, type RowKey } from "./search/row-keys.ts";
import { inSteps, rowsPerStep } from "./steps.ts";
import { type KeyedTable, keyOf } from "./table-catalogue.ts";

/**
 * Deletes all rows for which the condition is true, in bounded transactions. Each is deleted by its key, so that a distributed
 * database asks one node, and only while the condition is true, because a renewal may have just extended the row.
 */
export async function deleteEnded(
  table: KeyedTable,
  hasEnded: RawBuilder<unknown>,
  database: Database,
  signal: AbortSignal | undefined,
): Promise<void> {
  await inSteps(database, signal, (queries) => deleteSome(table, hasEnded, queries));
}

async function deleteSome(table: KeyedTable, hasEnded: RawBuilder<unknown>, queries: Queries): Promise<number> {
  const key = sql.join(keyOf(table).map((column) => sql.ref(column)));
  const some = sql<RowKey>`select ${key} from ${sql.table(table)} where ${hasEnded} limit ${rowsPerStep}`;
  const { rows } = await some.execute(queries);
  for (const row of rows) {
    await sql`delete from ${sql.table(table)} where ${isKey(row)} and ${hasEnded}`.execute(queries);
  }
  return rows.length;
}
