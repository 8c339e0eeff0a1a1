import type { Transaction } from "../db/database.ts";
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
  /** @returns false when the user has no such token */
  endToken(applicationId: string, userId: string, tokenId: string, transaction: Transaction): Promise<boolean>;
  endUserTokens(applicationId: string, userId: string, transaction: Transaction): Promise<void>;
  /** All of the user's tokens but this one. */
  endOtherUserTokens(applicationId: string, userId: string, tokenId: string, transaction: Transaction): Promise<void>;
  endDeviceTokens(applicationId: string, deviceId: string, transaction: Transaction): Promise<void>;
  endKeyTokens(applicationId: string, keyId: string, transaction: Transaction): Promise<void>;
  endApplicationTokens(applicationId: string, transaction: Transaction): Promise<void>;
  /** The keys too: nobody registers with any of them any more. */
  endApplicationTokensAndKeys(applicationId: string, transaction: Transaction): Promise<void>;
  /** Something else that callers are judged by has changed: the settings of an application, a user who is disabled. */
  judgeAgain(transaction: Transaction): void;
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
    async endToken(applicationId, userId, tokenId, { queries, afterCommit }) {
      const deleted = await queries
        .deleteFrom("user_tokens")
        .where("application_id", "=", applicationId)
        .where("user_id", "=", userId)
        .where("id", "=", tokenId)
        .executeTakeFirst();
      afterCommit(callers.recheckAll);
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

    judgeAgain({ afterCommit }) {
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

    async endApplicationTokensAndKeys(applicationId, { queries, afterCommit }) {
      await queries
        .updateTable("applications")
        .set((row) => ({
          token_version: row("token_version", "+", 1),
          key_generation: row("key_generation", "+", 1),
        }))
        .where("application_id", "=", applicationId)
        .execute();
      afterCommit(callers.recheckAll);
    },
  };
}
