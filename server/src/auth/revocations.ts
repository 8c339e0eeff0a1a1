import type { Transaction } from "../db/database.ts";
import type { EventRecorder } from "../event-log/recorder.ts";
import type { RevokedSubject } from "../event-log/revocations.ts";
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
  /** Revokes all tokens of the user except this one. */
  endOtherUserTokens(applicationId: string, userId: string, tokenId: string, transaction: Transaction): Promise<void>;
  endDeviceTokens(applicationId: string, deviceId: string, transaction: Transaction): Promise<void>;
  endKeyTokens(applicationId: string, keyId: string, transaction: Transaction): Promise<void>;
  endApplicationTokens(applicationId: string, transaction: Transaction): Promise<void>;
  /** Retires the keys as well, so that devices cannot register with them. */
  endApplicationTokensAndKeys(applicationId: string, transaction: Transaction): Promise<void>;
  /** Makes every process check the tokens below a subject again after another change, such as disabling a user. */
  invalidateTokens(applicationId: string, subject: RevokedSubject, transaction: Transaction): Promise<void>;
  /** The same after a change of the application, which has changed its revision. */
  invalidatePolicies(applicationId: string, transaction: Transaction): Promise<void>;
}

/** The tables whose rows have a version that tokens name. */
const tables = { user: "users", device: "devices", key: "application_keys" } as const;

export function createRevocations(
  callers: Pick<Callers, "invalidateTokenCache">,
  events: Pick<EventRecorder, "recordRevocation">,
): Revocations {
  async function invalidateTokens(
    applicationId: string,
    subject: RevokedSubject | undefined,
    { queries, afterCommit }: Transaction,
  ): Promise<void> {
    const revision = newRevision();
    await queries.updateTable("applications").set({ revision }).where("application_id", "=", applicationId).execute();
    if (subject !== undefined) await events.recordRevocation(applicationId, { ...subject, revision }, queries);
    afterCommit(callers.invalidateTokenCache);
  }

  async function endBelow(
    applicationId: string,
    subject: RevokedSubject & { readonly kind: keyof typeof tables },
    transaction: Transaction,
  ): Promise<void> {
    await transaction.queries
      .updateTable(tables[subject.kind])
      .set((row) => ({ token_version: row("token_version", "+", 1) }))
      .where("application_id", "=", applicationId)
      .where("id", "=", subject.id)
      .execute();
    await invalidateTokens(applicationId, subject, transaction);
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
    await events.recordRevocation(applicationId, { kind: "application", id: applicationId }, queries);
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
      const isThere = deleted.numDeletedRows === 1n;
      await invalidateTokens(applicationId, isThere ? { kind: "token", id: tokenId } : undefined, transaction);
      return isThere;
    },

    async endOtherUserTokens(applicationId, userId, tokenId, transaction) {
      await endBelow(applicationId, { kind: "user", id: userId, exceptTokenId: tokenId }, transaction);
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
    async invalidatePolicies(applicationId, { queries, afterCommit }) {
      await events.recordRevocation(applicationId, { kind: "application", id: applicationId }, queries);
      afterCommit(callers.invalidateTokenCache);
    },

    endUserTokens: (applicationId, userId, transaction) =>
      endBelow(applicationId, { kind: "user", id: userId }, transaction),
    endDeviceTokens: (applicationId, deviceId, transaction) =>
      endBelow(applicationId, { kind: "device", id: deviceId }, transaction),
    endKeyTokens: (applicationId, keyId, transaction) =>
      endBelow(applicationId, { kind: "key", id: keyId }, transaction),

    endApplicationTokens: (applicationId, transaction) => endApplication(applicationId, 0, transaction),
    endApplicationTokensAndKeys: (applicationId, transaction) => endApplication(applicationId, 1, transaction),
  };
}
