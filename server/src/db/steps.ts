import { type RawBuilder, sql } from "kysely";
import type { Database, Queries } from "./database.ts";
import { isKey, type RowKey } from "./search/row-keys.ts";
import { type KeyedTable, keyOf } from "./table-catalogue.ts";
import type { Tables } from "./tables.ts";

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
  const key = sql.join(keyOf(table).map((column) => sql.ref(column)));
  const some = sql<RowKey>`select ${key} from ${sql.table(table)} where ${hasEnded} limit ${rowsPerStep}`;
  for (let found = rowsPerStep; found === rowsPerStep; ) {
    signal?.throwIfAborted();
    const { rows } = await some.execute(database.reads);
    found = rows.length;
    if (found === 0) return; // as usual, without a transaction
    await database.write(async ({ queries }) => {
      for (const row of rows) {
        await sql`delete from ${sql.table(table)} where ${isKey(row)} and ${hasEnded}`.execute(queries);
      }
    });
  }
}

/** The rows of a table that count by interval. */
interface IntervalRows {
  readonly table: keyof Tables;
  /** The column with the start of the interval, in an index after the columns of the condition. */
  readonly start: string;
  readonly condition: RawBuilder<unknown>;
  /** The time whose intervals one transaction deletes. */
  readonly stepMs: number;
}

/** Deletes the rows of intervals that started before a time, in bounded transactions, the earliest first. */
export async function deleteOldIntervals(
  { table, start, condition, stepMs }: IntervalRows,
  before: number,
  database: Database,
  signal?: AbortSignal,
): Promise<void> {
  const [name, startsAt] = [sql.table(table), sql.ref(start)];
  for (;;) {
    signal?.throwIfAborted();
    const first = sql<{ at: number }>`
      select ${startsAt} as at from ${name} where ${condition} and ${startsAt} < ${before} order by ${startsAt} limit 1`;
    const [oldest] = (await first.execute(database.reads)).rows;
    if (oldest === undefined) return;
    const end = Math.min(Number(oldest.at) + stepMs, before);
    await database.write(({ queries }) =>
      sql`delete from ${name} where ${condition} and ${startsAt} < ${end}`.execute(queries),
    );
  }
}
