import type { Queries } from "../db/database.ts";
import type { OperatorRow } from "../db/tables.ts";
import type { Clock } from "../lib/clock.ts";
import type { IdGenerator } from "../lib/ids.ts";
import { digestSecret, newOperatorToken } from "../lib/secrets.ts";

/** An operator with its first token, which is told this once; only its digest is stored. */
export interface NewOperator {
  readonly id: string;
  readonly name: string;
  readonly token: string;
}

/**
 * Creates an operator with a token, to be committed with the caller's transaction.
 *
 * @returns undefined when the name is taken
 */
export async function insertOperator(
  name: string,
  { clock, ids }: { readonly clock: Clock; readonly ids: IdGenerator },
  queries: Queries,
): Promise<NewOperator | undefined> {
  const id = ids.newId("Operator");
  const created_at = clock.now();
  const inserted = await queries
    .insertInto("operators")
    .values({ id, name, created_at })
    .onConflict((conflict) => conflict.column("name").doNothing())
    .executeTakeFirst();
  if (inserted.numInsertedOrUpdatedRows === 0n) return undefined;
  const token = newOperatorToken();
  await queries
    .insertInto("operator_tokens")
    .values({ digest: digestSecret(token), operator_id: id, created_at })
    .execute();
  return { id, name, token };
}

/** All operators, oldest first. */
export function listOperators(queries: Queries): Promise<OperatorRow[]> {
  return queries.selectFrom("operators").selectAll().orderBy("id").execute();
}

/**
 * Deletes an operator and every token of it.
 *
 * @returns false when there is no such operator
 */
export async function deleteOperator(id: string, queries: Queries): Promise<boolean> {
  await queries.deleteFrom("operator_tokens").where("operator_id", "=", id).execute();
  const deleted = await queries.deleteFrom("operators").where("id", "=", id).executeTakeFirst();
  return deleted.numDeletedRows === 1n;
}
