import { type RawBuilder, sql } from "kysely";

/** The rows that a search walks: the columns that all of them share, and the condition of a partial index. */
interface Scope {
  /** Begins the names of the indexes. */
  readonly prefix: string;
  readonly table: string;
  readonly columns: string;
  readonly where?: string;
}

/**
 * Creates an index for each order of a search. It begins with the columns of the scope and continues in that order, so that no
 * search sorts.
 *
 * @param orders the columns of each order, by the end of the index's name
 */
export function searchIndexes(
  { prefix, table, columns, where }: Scope,
  orders: Readonly<Record<string, string>>,
): RawBuilder<unknown>[] {
  const condition = where === undefined ? "" : ` where ${where}`;
  return Object.entries(orders).map(([name, order]) =>
    sql.raw(`create index ${prefix}_${name} on ${table} (${columns}, ${order}, id)${condition}`),
  );
}

/**
 * The sort key of a text column, truncated because index entries have a bounded size. Written as `db/conditions.ts`
 * writes it.
 */
export function textKey(column: string): string {
  return `coalesce(substr(${column}, 1, 128), '')`;
}

/** The orders by these text columns, ties in the order of creation. */
export function textOrders(...columns: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(columns.map((column) => [column, `${textKey(column)}, created_at`]));
}
