import type { Transaction } from "../db/database.ts";
import { newRevision } from "../tenancy/revision.ts";
import type { Callers } from "./caller.ts";

/**
 * The kill tree (spec/authentication#revocation): each of these is one write, and once its transaction has committed, no
 * process accepts a token below it any more.
 *
 * ```
 * application ─┬─ application key ─┐
 *              ├─ device ──────────┼─ token
 *              └─ user ────────────┘
 * ```
 */
export interface Revocations {
  /** @returns false when the user has no such token */
  endToken(applicationId: string, userId: string, tokenId: string, transaction: Transaction): Promise<boolean>;
  endUserTokens(applicationId: string, userId: string, transaction: Transaction): Promise<void>;
  /** Ends all tokens of the user except this one. */
  endOtherUserTokens(applicationId: string, userId: string, tokenId: string, transaction: Transaction): Promise<void>;
  endDeviceTokens(applicationId: string, deviceId: string, transaction: Transaction): Promise<void>;
  endKeyTokens(applicationId: string, keyId: string, transaction: Transaction): Promise<void>;
  endApplicationTokens(applicationId: string, transaction: Transaction): Promise<void>;
  /** Ends the keys too, so that devices cannot register with them any more. */
  endApplicationTokensAndKeys(applicationId: string, transaction: Transaction): Promise<void>;
  /** Makes every process check the tokens of the application again after another change, as of a user who is disabled. */
  invalidateTokens(applicationId: string, transaction: Transaction): Promise<void>;
  /** The same after a change of the application, which has moved its revision. */
  invalidatePolicies(transaction: Transaction): void;
}

export function createRevocations(callers: Pick<Callers, "invalidateTokenCache">): Revocations {
  async function invalidateTokens(applicationId: string, { queries, afterCommit }: Transaction): Promise<void> {
    await queries
      .updateTable("applications")
      .set({ revision: newRevision() })
      .where("application_id", "=", applicationId)
      .execute();
    afterCommit(callers.invalidateTokenCache);
  }

  async function endBelow(
    table: "users" | "devices" | "application_keys",
    applicationId: string,
    id: string,
    transaction: Transaction,
  ): Promise<void> {
    await transaction.queries
      .updateTable(table)
      .set((row) => ({ token_version: row("token_version", "+", 1) }))
      .where("application_id", "=", applicationId)
      .where("id", "=", id)
      .execute();
    await invalidateTokens(applicationId, transaction);
  }

  async function endApplication(
    applicationId: string,
    generations: 0 | 1,
    { queries, afterCommit }: Transaction,
  ): Promise<void> {
    await queries
      .updateTable("applications")
      .set((row) => ({
        token_version: row("token_version", "+", 1),
        key_generation: row("key_generation", "+", generations),
        revision: newRevision(),
      }))
      .where("application_id", "=", applicationId)
      .execute();
    afterCommit(callers.invalidateTokenCache);
  }

  return {
    async endToken(applicationId, userId, tokenId, transaction) {
      const deleted = await transaction.queries
        .deleteFrom("user_tokens")
        .where("application_id", "=", applicationId)
        .where("user_id", "=", userId)
        .where("id", "=", tokenId)
        .executeTakeFirst();
      await invalidateTokens(applicationId, transaction);
      return deleted.numDeletedRows === 1n;
    },

    async endOtherUserTokens(applicationId, userId, tokenId, transaction) {
      await endBelow("users", applicationId, userId, transaction);
      const { queries } = transaction;
      await queries
        .updateTable("user_tokens")
        .set({
          user_version: queries
            .selectFrom("users")
            .select("token_version")
            .where("application_id", "=", applicationId)
            .where("id", "=", userId),
        })
        .where("application_id", "=", applicationId)
        .where("user_id", "=", userId)
        .where("id", "=", tokenId)
        .execute();
    },

    invalidateTokens,
    invalidatePolicies({ afterCommit }) {
      afterCommit(callers.invalidateTokenCache);
    },

    endUserTokens: (applicationId, userId, transaction) => endBelow("users", applicationId, userId, transaction),
    endDeviceTokens: (applicationId, deviceId, transaction) =>
      endBelow("devices", applicationId, deviceId, transaction),
    endKeyTokens: (applicationId, keyId, transaction) =>
      endBelow("application_keys", applicationId, keyId, transaction),

    endApplicationTokens: (applicationId, transaction) => endApplication(applicationId, 0, transaction),
    endApplicationTokensAndKeys: (applicationId, transaction) => endApplication(applicationId, 1, transaction),
  };
}
