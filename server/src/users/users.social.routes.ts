import { calledBy, refusedWith } from "../audit/audit.events.ts";
import type { Audit } from "../audit/audit.ts";
import { type GuardedProvider, type IdTokenCheck, type IdTokens, idTokenChecks } from "../auth/oidc.ts";
import type { Tokens } from "../auth/tokens.ts";
import { insertUserToken } from "../auth/user-tokens.ts";
import type { Database, Queries } from "../db/database.ts";
import type { UserRow } from "../db/tables.ts";
import { ApiError } from "../errors.ts";
import { type Route, route } from "../http/route.ts";
import type { Clock } from "../lib/clock.ts";
import type { IdGenerator } from "../lib/ids.ts";
import type { Log } from "../log.ts";
import { type PictureUrl, presentOwnUser } from "./users.contract.ts";
import { LoginSocialUser, SocialUserWithToken } from "./users.social.contract.ts";
import { anotherUserName, newSocialUser, socialUserName } from "./users.social.profile.ts";
import { findUserByProof, type ProvenIdentity, putProvenIdentity } from "./users.social.store.ts";
import { insertUser, updateUserLogin } from "./users.store.ts";

type Claims = Readonly<Record<string, unknown>>;

function describeRefusal(failedCheck: IdTokenCheck | "provider"): string {
  return failedCheck === "provider"
    ? "The application has no identity provider of the name identityProviderName."
    : `The id_token was refused: ${idTokenChecks[failedCheck]}`;
}

/** Login with an id_token of an identity provider (spec/users#social-login). */
export function usersSocialRoutes(services: {
  readonly database: Database;
  readonly tokens: Tokens;
  readonly idTokens: IdTokens;
  /** The provider as the application configures it. */
  readonly findOidcProvider: (applicationId: string, name: string) => Promise<GuardedProvider | undefined>;
  /** Whether the application has debug, so that clients learn which check a login failed. */
  readonly isDebugged: (applicationId: string) => Promise<boolean>;
  readonly pictureUrl: PictureUrl;
  readonly audit: Audit;
  readonly log: Log;
  readonly clock: Clock;
  readonly ids: IdGenerator;
}): Route[] {
  const { database, tokens, idTokens, findOidcProvider, isDebugged, pictureUrl, audit, log, clock, ids } = services;

  async function insertSocialUser(identity: ProvenIdentity, claims: Claims, queries: Queries): Promise<UserRow> {
    const { applicationId, provider, identifier } = identity;
    const at = clock.now();
    const id = ids.newId("User");
    const userName = socialUserName(provider, identifier);
    let user = newSocialUser({ applicationId, id, userName, at }, claims);
    while (!(await insertUser(user, queries))) {
      user = newSocialUser({ applicationId, id, userName: anotherUserName(userName), at }, claims);
    }
    await putProvenIdentity(identity, id, at, queries);
    return user;
  }

  /** Finds the user who proved this identity and records the login, or creates a user. */
  async function logIn(
    identity: ProvenIdentity,
    claims: Claims,
    queries: Queries,
  ): Promise<{ user: UserRow; isNew: boolean }> {
    async function logInKnown(): Promise<UserRow | undefined> {
      const found = await findUserByProof(identity, queries);
      return found && updateUserLogin(identity.applicationId, { userId: found.id, at: clock.now() }, queries);
    }
    const known = await logInKnown();
    if (known !== undefined) return { user: known, isNew: false };
    // Serializes first logins with one identity: each looks again after the previous one.
    const turn = `social login ${JSON.stringify(identity)}`;
    for (const statement of database.dialect.takeTurns(turn)) await statement.execute(queries);
    const knownByNow = await logInKnown();
    if (knownByNow !== undefined) return { user: knownByNow, isNew: false };
    return { user: await insertSocialUser(identity, claims, queries), isNew: true };
  }

  const loginSocialUser = route({
    method: "POST",
    path: "/users/login/social",
    operation: "loginSocialUser",
    summary: "Log in with an OpenID Connect id_token; the first login creates the user",
    tag: "Users",
    caller: "device",
    addressLimit: "logins",
    parameters: LoginSocialUser,
    status: 200,
    result: SocialUserWithToken,
    errors: ["AuthBadUsernameOrPassword"],
    async handle({ caller, parameters: { identityProviderName, identityID, identityAccessToken }, call }) {
      const { applicationId } = caller;
      const provider = await findOidcProvider(applicationId, identityProviderName);
      // Outside the transaction, because the provider may have to be asked for its keys.
      const verified = `id_token ${identityProviderName} ${identityID} ${identityAccessToken}`;
      const result =
        provider === undefined
          ? ({ failedCheck: "provider" } as const)
          : await database.apart(verified, () => idTokens.verify(identityAccessToken, identityID, provider));
      if ("failedCheck" in result) {
        const { failedCheck } = result;
        const about = { request_id: call.requestId, applicationId, provider: identityProviderName, failedCheck };
        log.info(about, "an id_token was refused");
        const event = { ...calledBy(caller, call), action: "loginSocialUser" };
        await audit.note({ ...event, ...refusedWith("AuthBadUsernameOrPassword") });
        const message = (await isDebugged(applicationId)) ? describeRefusal(failedCheck) : undefined;
        throw new ApiError("AuthBadUsernameOrPassword", message);
      }
      const { claims } = result;
      const identity: ProvenIdentity = { applicationId, provider: identityProviderName, identifier: identityID };
      let disabledId: string | undefined;
      const written = database.write(async ({ queries }) => {
        const login = await logIn(identity, claims, queries);
        const { id, token_version: tokenVersion, disabled_at } = login.user;
        if (disabled_at !== null) {
          disabledId = id;
          throw new ApiError("AuthUserAccountDisabled");
        }
        const { token, row } = tokens.issueUserToken(caller, { id, tokenVersion });
        await insertUserToken(row, queries);
        return { ...login, token };
      });
      const { user, isNew, token } = await written.catch(async (error) => {
        if (disabledId !== undefined) {
          const event = { ...calledBy(caller, call), action: "loginSocialUser", target: disabledId };
          await audit.note({ ...event, ...refusedWith("AuthUserAccountDisabled") });
        }
        throw error;
      });
      return { ...presentOwnUser(user, pictureUrl), ...token, isNew };
    },
  });

  return [loginSocialUser];
}
