import { type RawBuilder, sql } from "kysely";

/** The count of a LIMIT. SQLite recompiles a statement with a bare `limit ?` for every bound value. */
export function rowLimit(count: number): RawBuilder<number> {
  return sql<number>`cast(${count} as bigint)`;
}
