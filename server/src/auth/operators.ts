import type { OperatorCaller } from "../contract/route.ts";
import type { Database } from "../db/database.ts";
import type { Background } from "../jobs/background.ts";
import type { Clock } from "../lib/clock.ts";
import { ApiError } from "../lib/errors.ts";
import { digestSecret } from "../lib/secrets.ts";
import { readToken } from "./authorization.ts";
import type { CookieCall, OperatorSessionCookies } from "./operator-session-cookies.ts";
import { findOperatorBySession, updateOperatorSessionUsed } from "./operator-sessions.ts";
import type { OperatorTokens } from "./operator-tokens.ts";

/** Identifies the operator from the Authorization header or, without one, from the session cookie. */
export interface OperatorCallers {
  /**
   * Queries the database every time: operators call rarely, and a deleted session or a revoked role takes effect
   * immediately in every process. Tokens that were never issued are refused without a query. The cookie of a deleted
   * session is cleared.
   *
   * @param cookieCall absent where cookies do not count
   * @throws ApiError AuthFailed
   */
  authenticate(authorization: string | undefined, cookieCall?: CookieCall): Promise<OperatorCaller>;
  /**
   * The operator of the session cookie, if the call has one whose session is alive.
   *
   * @throws ApiError AuthFailed that names PUBLIC_URL, if the cookie is refused because of `Origin` alone
   */
  findByCookie(cookieCall: CookieCall): Promise<OperatorCaller | undefined>;
}

const usedEveryMs = 60_000;
/** How long a password confirmation counts as recent. */
const proofMs = 600_000;

export function createOperatorCallers(
  services: {
    readonly operatorTokens: OperatorTokens;
    readonly operatorSessionCookies: OperatorSessionCookies;
    readonly database: Database;
    readonly background: Background;
    readonly clock: Clock;
  },
  settings: { readonly authSchemes: readonly string[]; readonly operatorIdleMs: number },
): OperatorCallers {
  const { operatorTokens, operatorSessionCookies: cookies, database, background, clock } = services;
  const { operatorIdleMs: idleMs } = settings;
  const schemes = new Set(settings.authSchemes);
  // Avoids a write per request, but often enough that a session in use does not count as idle.
  const notedEveryMs = Math.min(usedEveryMs, idleMs / 10);

  function noteUse(digest: string, now: number): void {
    background.run("noteOperatorSession", () =>
      database.write(({ queries }) => updateOperatorSessionUsed(digest, now, queries)),
    );
  }

  /** @param isPoll true for an automatic call of a page, which does not extend the session */
  async function openSession(token: string, isPoll: boolean): Promise<OperatorCaller | undefined> {
    if (!operatorTokens.isIssued(token)) return undefined;
    const digest = digestSecret(token);
    const session = await findOperatorBySession(digest, database.reads);
    const now = clock.now();
    const isGood = session !== undefined && session.expires_at > now && session.used_at + idleMs > now;
    if (!isGood) return undefined;
    if (!isPoll && now - session.used_at >= notedEveryMs) noteUse(digest, now);
    const { id: operatorId, name, role, must_change_password, is_cookie, proved_at, created_at } = session;
    const provedAt = is_cookie === 1 ? (proved_at ?? created_at) : undefined;
    return {
      operatorId,
      name,
      role,
      mustChangePassword: must_change_password === 1,
      sessionId: digest,
      ...(provedAt !== undefined && now - provedAt > proofMs && { mustProve: true as const }),
    };
  }

  async function findByCookie(call: CookieCall): Promise<OperatorCaller | undefined> {
    const given = cookies.read(call);
    if (given === undefined) return undefined;
    const caller = await openSession(given.token, given.isPoll);
    if (caller === undefined) cookies.clear(call.browser);
    return caller;
  }

  return {
    async authenticate(authorization, cookieCall) {
      const token = readToken(authorization, schemes);
      const isByCookie = authorization === undefined && cookieCall !== undefined;
      const caller = isByCookie
        ? await findByCookie(cookieCall)
        : token === undefined
          ? undefined
          : await openSession(token, false);
      if (caller === undefined) throw new ApiError("AuthFailed");
      return caller;
    },
    findByCookie,
  };
}
