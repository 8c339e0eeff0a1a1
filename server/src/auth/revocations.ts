import type { Database, Transaction } from "../db/database.ts";
import type { Callers } from "./caller.ts";

/**
 * The kill tree (service.md "States and transitions"): each of these is one write, and from the moment its transaction
 * is on disk no token below it is accepted any more, by any process, ever.
 *
 * ```
 * application ─┬─ application key ─┐
 *              ├─ device ──────────┼─ token
 *              └─ user ────────────┘
 * ```
 */
export interface Revocations {
  endToken(applicationId: string, token: { id: string; expiresAt: number }, transaction: Transaction): Promise<void>;
  endUserTokens(applicationId: string, userId: string, transaction: Transaction): Promise<void>;
  endDeviceTokens(applicationId: string, deviceId: string, transaction: Transaction): Promise<void>;
  endKeyTokens(applicationId: string, keyId: string, transaction: Transaction): Promise<void>;
  endApplicationTokens(applicationId: string, transaction: Transaction): Promise<void>;
}

export function createRevocations(callers: Pick<Callers, "recheckAll">): Revocations {
  async function endBelow(
    table: "users" | "devices" | "application_keys",
    applicationId: string,
    id: string,
    { queries, afterCommit }: Transaction,
  ): Promise<void> {
    await queries
      .updateTable(table)
      .set((row) => ({ token_version: row("token_version", "+", 1) }))
      .where("application_id", "=", applicationId)
      .where("id", "=", id)
      .execute();
    afterCommit(callers.recheckAll);
  }

  return {
    async endToken(applicationId, { id, expiresAt }, { queries, afterCommit }) {
      await queries
        .insertInto("revoked_tokens")
        .values({ application_id: applicationId, token_id: id, expires_at: expiresAt })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
      afterCommit(callers.recheckAll);
    },

    endUserTokens: (applicationId, userId, transaction) => endBelow("users", applicationId, userId, transaction),
    endDeviceTokens: (applicationId, deviceId, transaction) =>
      endBelow("devices", applicationId, deviceId, transaction),
    endKeyTokens: (applicationId, keyId, transaction) =>
      endBelow("application_keys", applicationId, keyId, transaction),

    async endApplicationTokens(applicationId, { queries, afterCommit }) {
      await queries
        .updateTable("applications")
        .set((row) => ({ token_version: row("token_version", "+", 1) }))
        .where("application_id", "=", applicationId)
        .execute();
      afterCommit(callers.recheckAll);
    },
  };
}

const rowsPerStep = 1_000;
/** Kept this long past the token's expiry, so that a clock set back does not bring the token to life. */
const keptAfterExpiryMs = 86_400_000;

/** Drops the records of tokens that have long expired, a bounded number in each transaction. */
export async function deleteExpiredRevocations(now: number, database: Database, signal?: AbortSignal): Promise<void> {
  let rows: number;
  do {
    signal?.throwIfAborted();
    rows = await database.write(async ({ queries }) => {
      const expired = await queries
        .selectFrom("revoked_tokens")
        .select(["application_id", "token_id"])
        .where("expires_at", "<", now - keptAfterExpiryMs)
        .limit(rowsPerStep)
        .execute();
      for (const row of expired) {
        await queries
          .deleteFrom("revoked_tokens")
          .where("application_id", "=", row.application_id)
          .where("token_id", "=", row.token_id)
          .execute();
      }
      return expired.length;
    });
  } while (rows === rowsPerStep);
}
