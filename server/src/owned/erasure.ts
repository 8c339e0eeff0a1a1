import { sql } from "kysely";
import type { Queries } from "../db/database.ts";
import type { Dialect } from "../db/dialect.ts";
import type { OwnedRow, OwnedTableName } from "../db/tables.ts";
import { deleteSomeOfObjects } from "../jobs/metadata-erasure.ts";

/**
 * Erases some objects of a user that have no metadata left, otherwise some of their metadata. Objects are locked before
 * their metadata, in the same order as by requests that change or delete one, which prevents deadlocks.
 *
 * @returns "more" when metadata is left; the rows that this transaction has deleted, and how many it has found
 */
export async function eraseSomeOwned<Row extends OwnedRow>(
  table: OwnedTableName,
  { applicationId, userId }: { readonly applicationId: string; readonly userId: string },
  count: number,
  queries: Queries,
  dialect: Dialect,
): Promise<"more" | { readonly found: number; readonly deleted: readonly Row[] }> {
  const { rows } = await sql<{ id: string }>`
    select id from ${sql.table(table)} where application_id = ${applicationId} and user_id = ${userId}
    limit ${count} ${dialect.forUpdate}`.execute(queries);
  if (rows.length === 0) return { found: 0, deleted: [] };
  const ids = rows.map(({ id }) => id);
  if (!(await deleteSomeOfObjects(applicationId, ids, queries))) return "more";
  const deleted = await sql<Row>`
    delete from ${sql.table(table)} where application_id = ${applicationId} and id in (${sql.join(ids)})
    returning *`.execute(queries);
  return { found: rows.length, deleted: deleted.rows };
}
