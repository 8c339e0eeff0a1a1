import type { Revocations } from "../auth/revocations.ts";
import type { Transaction } from "../db/database.ts";
import type { Dialect } from "../db/dialect.ts";
import { lockRow } from "../db/lock.ts";
import type { UserRow } from "../db/tables.ts";
import { updateUserDeleted } from "./users.erasure.ts";
import { findUser, updateUser } from "./users.store.ts";

/**
 * Disables or enables a user, from the next request on in every process. A user who is already disabled keeps the
 * original time.
 *
 * @param at null to enable
 * @returns the updated user, or undefined when there is none
 */
export async function updateUserDisabled(
  applicationId: string,
  userId: string,
  at: number | null,
  revocations: Pick<Revocations, "invalidatePolicies">,
  transaction: Transaction,
): Promise<UserRow | undefined> {
  const user = await findUser(applicationId, userId, transaction.queries);
  if (user === undefined) return undefined;
  if ((user.disabled_at === null) === (at === null)) return user;
  await updateUser(applicationId, userId, { disabled_at: at }, transaction.queries);
  revocations.invalidatePolicies(transaction);
  return { ...user, disabled_at: at };
}

/** Deletes a user like users do themselves. @returns false when there is none */
export async function deleteUserByOperator(
  applicationId: string,
  userId: string,
  at: number,
  dialect: Dialect,
  revocations: Revocations,
  transaction: Transaction,
): Promise<boolean> {
  await lockRow(dialect, "users", applicationId, userId, transaction.queries); // of concurrent calls one succeeds
  if ((await findUser(applicationId, userId, transaction.queries)) === undefined) return false;
  await updateUserDeleted(applicationId, userId, at, revocations, transaction);
  return true;
}
