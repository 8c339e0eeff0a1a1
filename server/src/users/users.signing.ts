import type { Audit } from "../audit/audit.ts";
import type { TokenClaims } from "../auth/tokens.ts";
import type { Log } from "../config/log.ts";
import type { Database, Queries, Transaction } from "../db/database.ts";
import type { EventRecorder } from "../event-log/recorder.ts";
import type { CommandServices } from "../operations/services.ts";
import { accountEvent } from "./users.events.ts";

/** Records a sign-in; for a new user, also the creation of the user. */
export async function recordSignIn(
  applicationId: string,
  userId: string,
  isNew: boolean,
  events: EventRecorder,
  queries: Queries,
): Promise<void> {
  const created = isNew ? [accountEvent("created", userId)] : [];
  await events.record(applicationId, [...created, accountEvent("signed_in", userId)], queries);
}

/** Revokes one token of a user. @returns false when the user has no such token */
export async function signOut(
  applicationId: string,
  userId: string,
  tokenId: string,
  { revocations, events }: Pick<CommandServices, "revocations" | "events">,
  transaction: Transaction,
): Promise<boolean> {
  const isRevoked = await revocations.endToken(applicationId, userId, tokenId, transaction);
  if (isRevoked) await events.record(applicationId, accountEvent("signed_out", userId), transaction.queries);
  return isRevoked;
}

/** The session of a user token. */
export type ReusedToken = Pick<TokenClaims, "applicationId" | "userId" | "tokenId">;

/**
 * Returns a function that revokes the session of a superseded token that was used again, because either its user or a
 * thief has the successor (spec/authentication#reuse). After a failure, the next use of the token tries again.
 */
export function createReuseGuard(
  services: Pick<CommandServices, "revocations" | "events"> & {
    readonly database: Database;
    readonly audit: Audit;
    readonly log: Log;
  },
): (token: ReusedToken) => Promise<void> {
  const { database, audit, log } = services;
  return async ({ applicationId, userId = "", tokenId }) => {
    const ended = database.write(async (transaction) => {
      if (!(await signOut(applicationId, userId, tokenId, services, transaction))) return;
      const target = { applicationId, target: userId };
      const event = {
        actor: { kind: "system" },
        action: "endReusedSession",
        ...target,
        details: { id: tokenId },
      } as const;
      await audit.record(event, transaction.queries);
    });
    await ended.catch((err) => {
      log.warn({ err, appid: applicationId, user: userId }, "the session of a reused token could not be ended");
    });
  };
}
