import { sql } from "kysely";
import type { Queries } from "../db/database.ts";

const triesMax = 5;

/** Whose code it is, and what is stored of it. */
export interface ResetCode {
  readonly applicationId: string;
  readonly userId: string;
  readonly digest: string;
}

/** Stores a new code in place of the one before. */
export async function putResetCode(
  { applicationId, userId, digest }: ResetCode,
  expiresAt: number,
  queries: Queries,
): Promise<void> {
  const code = { digest, tries_left: triesMax, expires_at: expiresAt };
  await queries
    .insertInto("password_resets")
    .values({ application_id: applicationId, user_id: userId, ...code })
    .onConflict((conflict) => conflict.columns(["application_id", "user_id"]).doUpdateSet(code))
    .execute();
}

/**
 * Compares a code with the stored one while that has tries left. A wrong one costs a try, in the same statement: of any
 * number of guesses at once no more than the tries that are left are compared.
 */
export async function tryResetCode(
  { applicationId, userId, digest }: ResetCode,
  now: number,
  queries: Queries,
): Promise<boolean> {
  const tried = await queries
    .updateTable("password_resets")
    .set({ tries_left: sql<number>`case when digest = ${digest} then tries_left else tries_left - 1 end` })
    .where("application_id", "=", applicationId)
    .where("user_id", "=", userId)
    .where("tries_left", ">", 0)
    .where("expires_at", ">", now)
    .returning("digest")
    .executeTakeFirst();
  return tried?.digest === digest;
}

/** A code that was sent to an address, or for a password, that is not the user's any more. */
export async function deleteResetCodes(applicationId: string, userId: string, queries: Queries): Promise<void> {
  await queries
    .deleteFrom("password_resets")
    .where("application_id", "=", applicationId)
    .where("user_id", "=", userId)
    .execute();
}

/** Uses up a code that has been found right. @returns false when somebody else did, or a new code took its place */
export async function deleteResetCode(
  { applicationId, userId, digest }: ResetCode,
  queries: Queries,
): Promise<boolean> {
  const deleted = await queries
    .deleteFrom("password_resets")
    .where("application_id", "=", applicationId)
    .where("user_id", "=", userId)
    .where("digest", "=", digest)
    .executeTakeFirst();
  return deleted.numDeletedRows === 1n;
}

/** @returns false when the user has been deleted meanwhile */
export async function updateUserPassword(
  { applicationId, userId }: Pick<ResetCode, "applicationId" | "userId">,
  passwordHash: string,
  queries: Queries,
): Promise<boolean> {
  const updated = await queries
    .updateTable("users")
    .set({ password_hash: passwordHash })
    .where("application_id", "=", applicationId)
    .where("id", "=", userId)
    .where("deleted_at", "is", null)
    .executeTakeFirst();
  return updated.numUpdatedRows === 1n;
}
