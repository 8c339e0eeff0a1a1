import type { Background } from "../background.ts";
import type { Database } from "../db/database.ts";
import { ApiError } from "../errors.ts";
import type { OperatorCaller } from "../http/route.ts";
import type { Clock } from "../lib/clock.ts";
import { digestSecret } from "../lib/secrets.ts";
import { readToken } from "./authorization.ts";
import { findOperatorBySession, updateOperatorSessionUsed } from "./operator-sessions.ts";
import type { OperatorTokens } from "./operator-tokens.ts";

/** Finds out which operator is calling, from the Authorization header. */
export interface OperatorCallers {
  /**
   * Asks the database every time: operators call seldom, and a session that was ended is dead at once, on every process,
   * as is a role that was taken away. What was never issued is refused without asking.
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
  // Not a write for every request, and often enough that a session in use does not pass for idle.
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
      return { operatorId: session.id, name: session.name, role: session.role, sessionId: digest };
    },
  };
}
