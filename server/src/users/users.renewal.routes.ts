import { lockSession, noteRenewals, updateSession } from "../auth/token-renewals.ts";
import { Type } from "../contract/schema.ts";
import { ApiError } from "../lib/errors.ts";
import { operation } from "../operations/operation.ts";
import { sessionMsDefault } from "../tenancy/application-settings.ts";
import { RenewedToken } from "./users.contract.ts";

/** Renewal of user tokens (spec/authentication#renewal). */
export const renewToken = operation({
  method: "POST",
  path: "/users/me/tokens",
  operation: "renewToken",
  summary: "Renew this user token: get its successor",
  description:
    "Returns the same successor as long as the token is valid. The token stays valid for some minutes after the first use of the successor.",
  tag: "Users",
  caller: "user",
  parameters: Type.Object({}),
  status: 201,
  result: RenewedToken,
  errors: [],
  async handle({ caller }, { database, tokens, revocations, clock }) {
    const { applicationId, policy, renewals = 0 } = caller;
    const { sessionMs = sessionMsDefault } = policy.tokenLifetimes;
    if (sessionMs === 0)
      throw new ApiError("AuthAPICallDisabledByDeveloper", "Tokens of the application are not renewed.");
    const now = clock.now();
    const expiresAt = await database.write(async (transaction) => {
      const { queries } = transaction;
      const session = await lockSession(caller, database.dialect, queries);
      if (session === undefined) throw new ApiError("AuthAccessTokenInvalid"); // ended after the token was checked
      const sessionEndsAt = session.created_at + sessionMs;
      if (sessionEndsAt <= now) throw new ApiError("AuthAPICallDisabledByDeveloper", sessionTooOld);
      const isKnown = session.renewals > renewals;
      const latest = Math.min(now + tokens.userLifetimeMs(policy), sessionEndsAt);
      const expires_at = isKnown ? Math.min(session.expires_at, latest) : latest;
      if (isKnown) return expires_at;
      // The predecessor stays valid until its own end, which may be later where the lifetime was shortened.
      const lasting = Math.max(session.expires_at, expires_at);
      await updateSession(caller, { renewals: renewals + 1, expires_at: lasting }, queries);
      if (await noteRenewals(applicationId, queries)) await revocations.invalidatePolicies(applicationId, transaction);
      return expires_at;
    });
    return tokens.renewUserToken(caller, expiresAt);
  },
});

const sessionTooOld = "The user has signed in too long ago: the application limits sessions.";
