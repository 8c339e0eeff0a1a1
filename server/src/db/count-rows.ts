import { type RawBuilder, sql } from "kysely";
import { type Counted, counted, countMax } from "../lib/counted.ts";
import type { Queries } from "./database.ts";

/**
 * Counts rows, but no more than needed for a {@link Counted}.
 *
 * @param rows the statement from its `from` on
 */
export async function countRows(rows: RawBuilder<unknown>, queries: Queries): Promise<Counted> {
  const statement = sql<{ counted: number | bigint | string }>`
    select count(*) as counted from (select 1 ${rows} limit ${sql.lit(countMax + 1)}) as found`;
  const found = await queries.executeQuery(statement.compile(queries));
  return counted(Number(found.rows[0]?.counted));
}
