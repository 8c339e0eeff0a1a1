import { sql } from "kysely";
import { deleteOperatorSessions } from "../auth/operator-sessions.ts";
import type { Queries } from "../db/database.ts";
import type { Dialect } from "../db/dialect.ts";
import { lockName } from "../db/lock.ts";
import { condition, numberOrder } from "../db/search/conditions.ts";
import { readPage } from "../db/search/page.ts";
import { scopeStream } from "../db/search/scope.ts";
import type { OperatorRow } from "../db/tables.ts";
import type { Page, Position } from "../lib/keyset.ts";

/** Why an operator cannot be created, changed or deleted. */
export type OperatorRefusal = "is not there" | "is the last owner" | "has a taken name" | "has another password";

/** @returns false when the name is taken */
export async function insertOperator(row: OperatorRow, queries: Queries): Promise<boolean> {
  const inserted = await queries
    .insertInto("operators")
    .values(row)
    .onConflict((conflict) => conflict.column("name").doNothing())
    .executeTakeFirst();
  return inserted.numInsertedOrUpdatedRows === 1n;
}

export function findOperator(id: string, queries: Queries): Promise<OperatorRow | undefined> {
  return queries.selectFrom("operators").selectAll().where("id", "=", id).executeTakeFirst();
}

/** @param name normalized by `readOperatorName` */
export function findOperatorByName(name: string, queries: Queries): Promise<OperatorRow | undefined> {
  return queries.selectFrom("operators").selectAll().where("name", "=", name).executeTakeFirst();
}

export async function hasOperators(queries: Queries): Promise<boolean> {
  return (await queries.selectFrom("operators").select("id").limit(1).executeTakeFirst()) !== undefined;
}

/** @returns the id of the only owner, if there is exactly one */
export async function findLastOwner(queries: Queries): Promise<string | undefined> {
  const owners = await queries.selectFrom("operators").select("id").where("role", "=", "owner").limit(2).execute();
  return owners.length === 1 ? owners[0]?.id : undefined;
}

/** Lists a page of operators, oldest first. */
export function listOperatorPage(position: Position, size: number, queries: Queries): Promise<Page<OperatorRow>> {
  const scope = {
    shape: "operators",
    from: sql`operators`,
    select: sql`*`,
    conditions: [condition("any", {}, () => sql`true`)],
  };
  return readPage(scopeStream<OperatorRow>(scope, numberOrder("created_at"), false, queries), position, size);
}

/** The columns of an operator that can be changed. */
export type OperatorChange = Partial<Pick<OperatorRow, "name" | "role" | "password_hash">>;

/**
 * Changes an operator. A new password deletes its sessions except the given one.
 *
 * @param known for `password_hash`: the hash that the change replaces. If the operator has another one, nothing
 * changes.
 */
export async function updateOperator(
  id: string,
  change: OperatorChange,
  dialect: Dialect,
  queries: Queries,
  known: { readonly keptSession?: string | undefined; readonly password_hash?: string } = {},
): Promise<OperatorRow | OperatorRefusal> {
  const operator = await lockOperator(id, dialect, queries);
  if (operator === undefined) return "is not there";
  if ((known.password_hash ?? operator.password_hash) !== operator.password_hash) return "has another password";
  const isDemoted = change.role !== undefined && change.role !== "owner";
  if (isDemoted && (await isLastOwner(operator, queries))) return "is the last owner";
  if (change.name !== undefined && change.name !== operator.name) {
    if ((await findOperatorByName(change.name, queries)) !== undefined) return "has a taken name";
  }
  const changed = { ...operator, ...change };
  if (change.password_hash !== undefined) changed.must_change_password = 0;
  const { name, role, password_hash, must_change_password } = changed;
  const columns = { name, role, password_hash, must_change_password };
  await queries.updateTable("operators").set(columns).where("id", "=", id).execute();
  if (change.password_hash !== undefined) await deleteOperatorSessions(id, known.keptSession, queries);
  return changed;
}

/** Deletes an operator and its sessions. */
export async function deleteOperator(
  id: string,
  dialect: Dialect,
  queries: Queries,
): Promise<OperatorRefusal | undefined> {
  const operator = await lockOperator(id, dialect, queries);
  if (operator === undefined) return "is not there";
  if (await isLastOwner(operator, queries)) return "is the last owner";
  await deleteOperatorSessions(id, undefined, queries);
  await queries.deleteFrom("operators").where("id", "=", id).execute();
  return undefined;
}

/**
 * Records a sign-in, and a rehashed password if there is one.
 *
 * @returns false when the password has changed since the check, or the operator was deleted
 */
export async function updateOperatorLogin(
  { id, password_hash }: Pick<OperatorRow, "id" | "password_hash">,
  newHash: string,
  at: number,
  queries: Queries,
): Promise<boolean> {
  const updated = await queries
    .updateTable("operators")
    .set({ last_login_at: at, password_hash: newHash })
    .where("id", "=", id)
    .where("password_hash", "=", password_hash)
    .executeTakeFirst();
  return updated.numUpdatedRows === 1n;
}

/**
 * Serializes changes of operators: of two that would leave no owner, the second sees the first. A concurrent sign-in
 * completes before or after.
 */
async function lockOperator(id: string, dialect: Dialect, queries: Queries): Promise<OperatorRow | undefined> {
  await lockName(dialect, "operators", queries);
  const select = queries.selectFrom("operators").selectAll().where("id", "=", id);
  return (dialect.hasRowLocks ? select.forUpdate() : select).executeTakeFirst();
}

async function isLastOwner({ id, role }: OperatorRow, queries: Queries): Promise<boolean> {
  return role === "owner" && (await findLastOwner(queries)) === id;
}
