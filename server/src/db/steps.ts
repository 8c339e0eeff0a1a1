import { type RawBuilder, sql } from "kysely";
import type { Database, Queries } from "./database.ts";
import { isKey, type RowKey } from "./search/row-keys.ts";
import { type KeyedTable, keyOf } from "./table-catalogue.ts";

/** The rows that one transaction of a long deletion takes, so that other writes do not wait for long. */
export const rowsPerStep = 1_000;

/**
 * Deletes any number of rows in bounded transactions.
 *
 * @param deleteSome takes at most {@link rowsPerStep} rows, and returns how many it found
 */
export async function inSteps(
  { write }: Database,
  signal: AbortSignal | undefined,
  deleteSome: (queries: Queries) => Promise<number>,
): Promise<void> {
  do signal?.throwIfAborted();
  while ((await write(({ queries }) => deleteSome(queries))) === rowsPerStep);
}

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
