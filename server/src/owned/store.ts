import { type RawBuilder, sql } from "kysely";
import type { Queries } from "../db/database.ts";
import { compilable, prepareShapes } from "../db/prepared.ts";
import type { OwnedRow, OwnedTableName } from "../db/tables.ts";
import { ApiError } from "../lib/errors.ts";
import { isOwnerThere, isShownToOthers } from "../privacy/visibility.ts";

const runAddition = prepareShapes({ kind: "insert", keys: [] });
const runLookup = prepareShapes({ kind: "lookup", isCommon: false });
const runUpdate = prepareShapes();

export async function insertOwned(table: OwnedTableName, row: OwnedRow, queries: Queries): Promise<void> {
  const values: object = row;
  const columns = Object.keys(values);
  await runAddition(queries, `insert ${table} ${columns}`, { ...values }, (parameter) =>
    compilable(
      sql`insert into ${sql.table(table)} (${sql.join(columns.map((column) => sql.ref(column)))})
        values (${sql.join(columns.map((column) => sql`${parameter(column)}`))})`,
      queries,
    ),
  );
}

/** An object that this user may read: the user's own, or one that its owner shares. @throws ApiError ItemDoesNotExist */
export async function getReadable<Row extends OwnedRow>(
  table: OwnedTableName,
  applicationId: string,
  readerId: string,
  id: string,
  queries: Queries,
): Promise<Row> {
  const [row] = await findWhere<Row>(table, "any", () => sql`true`, applicationId, id, queries);
  if (row?.user_id === readerId) return row;
  const isShared =
    row?.read_permission === 1 &&
    (await findWhere(table, "shown", (application) => isShownToOthers(table, application), applicationId, id, queries))
      .length > 0;
  if (row === undefined || !isShared) throw new ApiError("ItemDoesNotExist");
  return row;
}

/** Lists the given objects that this user may read. */
export async function listReadable(
  table: OwnedTableName,
  applicationId: string,
  readerId: string,
  ids: readonly string[],
  queries: Queries,
): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  const { rows } = await sql<{ id: string }>`
    select id from ${sql.table(table)}
    where application_id = ${applicationId} and id in (${sql.join([...new Set(ids)])})
      and (user_id = ${readerId} or read_permission = 1 and ${isShownToOthers(table, applicationId)})`.execute(queries);
  return new Set(rows.map(({ id }) => id));
}

/** An object regardless of its permissions, unless its owner or its application is being deleted. */
export async function findLive<Row extends OwnedRow>(
  table: OwnedTableName,
  applicationId: string,
  id: string,
  queries: Queries,
): Promise<Row | undefined> {
  const isThere = (application: unknown) => sql<boolean>`${isOwnerThere(table, application)} and exists (
    select 1 from applications as application
    where application.application_id = ${application} and application.deleted_at is null
  )`;
  return (await findWhere<Row>(table, "live", isThere, applicationId, id, queries))[0];
}

function findWhere<Row extends OwnedRow>(
  table: OwnedTableName,
  shape: string,
  condition: (application: unknown) => RawBuilder<boolean>,
  applicationId: string,
  id: string,
  queries: Queries,
): Promise<Row[]> {
  return runLookup<Row>(queries, `${shape} of ${table}`, { applicationId, id }, (parameter) =>
    compilable(
      sql<Row>`select * from ${sql.table(table)}
        where application_id = ${parameter("applicationId")} and id = ${parameter("id")} and ${condition(parameter("applicationId"))}`,
      queries,
    ),
  );
}

/** Stores the columns whose values a change replaces: each further one would rewrite its indexes. */
export async function updateOwned<Row extends OwnedRow>(
  table: OwnedTableName,
  before: Row,
  row: Row,
  queries: Queries,
): Promise<void> {
  const columns = (Object.keys(row) as (keyof Row & string)[]).filter((column) => row[column] !== before[column]);
  if (columns.length === 0) return;
  const values: object = row;
  await runUpdate(queries, `update ${table} ${columns}`, { ...values }, (parameter) =>
    compilable(
      sql`update ${sql.table(table)}
        set ${sql.join(columns.map((column) => sql`${sql.ref(column)} = ${parameter(column)}`))}
        where application_id = ${parameter("application_id")} and id = ${parameter("id")}`,
      queries,
    ),
  );
}

/** @returns the deleted row, unless it was already deleted */
export async function deleteOwned(
  table: OwnedTableName,
  applicationId: string,
  id: string,
  queries: Queries,
): Promise<Pick<OwnedRow, "id" | "user_id" | "read_permission"> | undefined> {
  const { rows } = await sql<Pick<OwnedRow, "id" | "user_id" | "read_permission">>`
    delete from ${sql.table(table)} where application_id = ${applicationId} and id = ${id}
    returning id, user_id, read_permission`.execute(queries);
  return rows[0];
}
