import type { Background } from "../background.ts";
import type { OperatorCaller } from "../contract/route.ts";
import type { Database } from "../db/database.ts";
import { ApiError } from "../errors.ts";
import type { Clock } from "../lib/clock.ts";
import { digestSecret } from "../lib/secrets.ts";
import { readToken } from "./authorization.ts";
import { findOperatorBySession, updateOperatorSessionUsed } from "./operator-sessions.ts";
import type { OperatorTokens } from "./operator-tokens.ts";

/** Identifies the operator from the Authorization header. */
export interface OperatorCallers {
  /**
   * Asks the database every time: operators call rarely, and an ended session or a revoked role takes effect at once in
   * every process. Tokens that were never issued are refused without a query.
   *
   * @throws ApiError AuthFailed
   */
  authenticate(authorization: string | undefined): Promise<OperatorCaller>;
}

const usedEveryMs = 60_000;

export function createOperatorCallers(
  services: {
    readonly operatorTokens: OperatorTokens;
    readonly database: Database;
    readonly background: Background;
    readonly clock: Clock;
  },
  settings: { readonly authSchemes: readonly string[]; readonly operatorIdleMs: number },
): OperatorCallers {
  const { operatorTokens, database, background, clock } = services;
  const { operatorIdleMs: idleMs } = settings;
  const schemes = new Set(settings.authSchemes);
  // Avoids a write per request, but often enough that a session in use does not count as idle.
  const notedEveryMs = Math.min(usedEveryMs, idleMs / 10);

  function noteUse(digest: string, now: number): void {
    background.run("noteOperatorSession", () =>
      database.write(({ queries }) => updateOperatorSessionUsed(digest, now, queries)),
    );
  }

  return {
    async authenticate(authorization) {
      const token = readToken(authorization, schemes);
      if (token === undefined || !operatorTokens.isIssued(token)) throw new ApiError("AuthFailed");
      const digest = digestSecret(token);
      const session = await findOperatorBySession(digest, database.reads);
      const now = clock.now();
      const isGood = session !== undefined && session.expires_at > now && session.used_at + idleMs > now;
      if (!isGood) throw new ApiError("AuthFailed");
      if (now - session.used_at >= notedEveryMs) noteUse(digest, now);
      const { id: operatorId, name, role, must_change_password } = session;
      return { operatorId, name, role, mustChangePassword: must_change_password === 1, sessionId: digest };
    },
  };
}
