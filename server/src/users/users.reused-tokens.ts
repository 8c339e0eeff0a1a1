import type { Audit } from "../audit/audit.ts";
import type { TokenClaims } from "../auth/tokens.ts";
import type { Log } from "../config/log.ts";
import type { Database } from "../db/database.ts";
import type { CommandServices } from "../operations/services.ts";
import { signOut } from "./users.signing.ts";

/** The session of a user token. */
export type ReusedToken = Pick<TokenClaims, "applicationId" | "userId" | "tokenId">;

/**
 * Returns what ends the session of a superseded token that came back, because either its user or a thief has the successor
 * (spec/authentication#reuse). A failure leaves the session, and the next use of the token ends it.
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
