import { type RawBuilder, sql } from "kysely";
import type { Queries } from "../db/database.ts";
import { isKey, type RowKey } from "../db/search/row-keys.ts";
import { type ApplicationTable, tableCatalogue } from "../db/table-catalogue.ts";

/** The owner of rows, as values of some columns. */
interface Owner {
  readonly application_id: string;
  readonly user_id?: string;
  readonly device_id?: string;
  readonly object_id?: string;
  readonly slot?: string;
}

/**
 * Deletes about `count` of an owner's rows, or fewer if they are large. The rows are looked up first: in a single
 * statement, PostgreSQL without table statistics would repeat the lookup for each row of the owner.
 *
 * @param also an additional condition, such as the condition of a partial index
 * @returns the number of deleted rows; 0 if no row remains
 */
export async function deleteSomeRows(
  table: ApplicationTable,
  owner: Owner,
  count: number,
  queries: Queries,
  also: RawBuilder<unknown> = sql``,
): Promise<number> {
  const owned = isKey({ ...owner });
  const { key: columns, rowsPerStep = count }: TableStep = tableCatalogue[table];
  const key = sql.join(columns.map((column) => sql.ref(column)));
  const { rows } = await sql<RowKey>`
    select ${key} from ${sql.table(table)} where ${owned} ${also} limit ${Math.min(count, rowsPerStep)}`.execute(
    queries,
  );
  await Promise.all(
    groupByPrefix(columns, rows).map((group) => {
      const [first = {}] = group;
      const last = columns.at(-1) ?? "";
      const { [last]: _, ...others } = first;
      const isOneOfThem = sql`${sql.ref(last)} in (${sql.join(group.map((row) => sql`${row[last]}`))})`;
      return sql`delete from ${sql.table(table)} where ${isKey({ ...owner, ...others })} and ${isOneOfThem}`.execute(
        queries,
      );
    }),
  );
  return rows.length;
}

interface TableStep {
  readonly key: readonly string[];
  readonly rowsPerStep?: number;
}

/**
 * Groups keys that differ only in the last column, because PostgreSQL would join a list of multi-column keys row by
 * row.
 */
function groupByPrefix(columns: readonly string[], rows: readonly RowKey[]): readonly (readonly RowKey[])[] {
  const others = columns.slice(0, -1);
  return [...Map.groupBy(rows, (row) => JSON.stringify(others.map((column) => row[column]))).values()];
}
