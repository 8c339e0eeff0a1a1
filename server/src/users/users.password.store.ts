import { sql } from "kysely";
import type { Queries } from "../db/database.ts";

const triesMax = 5;

/** A user's code, as stored. */
export interface ResetCode {
  readonly applicationId: string;
  readonly userId: string;
  readonly digest: string;
}

/** Stores a new code and replaces the previous one. */
export async function putResetCode(
  { applicationId, userId, digest }: ResetCode,
  { createdAt, expiresAt }: { readonly createdAt: number; readonly expiresAt: number },
  queries: Queries,
): Promise<void> {
  const code = { digest, tries_left: triesMax, expires_at: expiresAt, created_at: createdAt };
  await queries
    .insertInto("password_resets")
    .values({ application_id: applicationId, user_id: userId, ...code })
    .onConflict((conflict) => conflict.columns(["application_id", "user_id"]).doUpdateSet(code))
    .execute();
}

const recentMs = 60_000;

/** Whether the user has a valid code younger than a minute. */
export async function hasRecentResetCode(
  applicationId: string,
  userId: string,
  now: number,
  queries: Queries,
): Promise<boolean> {
  const code = await queries
    .selectFrom("password_resets")
    .select("created_at")
    .where("application_id", "=", applicationId)
    .where("user_id", "=", userId)
    .where("tries_left", ">", 0)
    .where("expires_at", ">", now)
    .where("created_at", ">", now - recentMs)
    .where("created_at", "<", now + recentMs) // a code from further in the future was created under a wrong clock
    .executeTakeFirst();
  return code !== undefined;
}

/**
 * Compares a code with the stored one while it has attempts left. A wrong code costs an attempt in the same statement,
 * so that concurrent guesses cannot exceed the limit.
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

/** Deletes codes that were sent to a former address, or for a former password. */
export async function deleteResetCodes(applicationId: string, userId: string, queries: Queries): Promise<void> {
  await queries
    .deleteFrom("password_resets")
    .where("application_id", "=", applicationId)
    .where("user_id", "=", userId)
    .execute();
}

/**
 * Deletes a code that matched, because it is valid once.
 *
 * @returns when it was mailed; undefined when a concurrent call used or replaced it
 */
export async function deleteResetCode(
  { applicationId, userId, digest }: ResetCode,
  queries: Queries,
): Promise<number | undefined> {
  const deleted = await queries
    .deleteFrom("password_resets")
    .where("application_id", "=", applicationId)
    .where("user_id", "=", userId)
    .where("digest", "=", digest)
    .returning("created_at")
    .executeTakeFirst();
  return deleted?.created_at;
}
