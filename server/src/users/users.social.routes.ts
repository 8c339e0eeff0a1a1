import { calledBy, refusedWith } from "../audit/audit.events.ts";
import { type IdTokenCheck, idTokenChecks } from "../auth/oidc.ts";
import type { IssuedToken } from "../auth/tokens.ts";
import { insertUserToken } from "../auth/user-tokens.ts";
import type { Call } from "../contract/call.ts";
import type { Caller } from "../contract/route.ts";
import type { Static } from "../contract/schema.ts";
import type { Queries } from "../db/database.ts";
import type { UserRow } from "../db/tables.ts";
import { identityEvent } from "../event-log/identity-events.ts";
import { ApiError } from "../lib/errors.ts";
import { operation } from "../operations/operation.ts";
import type { Services } from "../operations/services.ts";
import { presentOwnUser } from "./users.contract.ts";
import { recordSignIn } from "./users.signing.ts";
import { LoginSocialUser, SocialUserWithToken } from "./users.social.contract.ts";
import { anotherUserName, newSocialUser, socialUserName } from "./users.social.profile.ts";
import { findUserByProof, type ProvenIdentity, putProvenIdentity } from "./users.social.store.ts";
import { insertUser, updateUserLogin } from "./users.store.ts";

type Claims = Readonly<Record<string, unknown>>;

interface SocialLogin {
  readonly user: UserRow;
  readonly isNew: boolean;
}

const loginSocialUser = operation({
  method: "POST",
  path: "/users/login/social",
  operation: "loginSocialUser",
  summary: "Log in with an OpenID Connect id_token; the first login creates the user",
  description: "Checks the id_token with the keys of the provider in the application's settings.",
  tag: "Users",
  caller: "device",
  addressLimit: "logins",
  parameters: LoginSocialUser,
  status: 200,
  result: SocialUserWithToken,
  errors: ["AuthBadUsernameOrPassword"],
  async handle({ caller, parameters, call }, services) {
    const { identityProviderName: provider, identityID: identifier } = parameters;
    const claims = await requireClaims(parameters, caller, call, services);
    const identity: ProvenIdentity = { applicationId: caller.applicationId, provider, identifier };
    const { user, isNew, token } = await logIn(identity, claims, caller, call, services);
    return { ...presentOwnUser(user, services.pictureUrl), ...token, isNew };
  },
});

/** @returns the claims of the id_token @throws ApiError AuthBadUsernameOrPassword when it is refused */
async function requireClaims(
  { identityProviderName, identityID, identityAccessToken }: Static<typeof LoginSocialUser>,
  caller: Caller,
  call: Call,
  { database, idTokens, findOidcProvider, isDebugged, audit, log }: Services,
): Promise<Claims> {
  const { applicationId } = caller;
  const provider = await findOidcProvider(applicationId, identityProviderName);
  // Outside of the transaction, because a request for the provider's keys may be necessary.
  const verified = `id_token ${identityProviderName} ${identityID} ${identityAccessToken}`;
  const result =
    provider === undefined
      ? ({ failedCheck: "provider" } as const)
      : await database.apart(verified, () => idTokens.verify(identityAccessToken, identityID, provider));
  if ("claims" in result) return result.claims;
  const { failedCheck } = result;
  const about = { request_id: call.requestId, applicationId, provider: identityProviderName, failedCheck };
  log.info(about, "an id_token was refused");
  const event = { ...calledBy(caller, call), action: "loginSocialUser" };
  await audit.note({ ...event, ...refusedWith("AuthBadUsernameOrPassword") });
  const message = (await isDebugged(applicationId)) ? describeRefusal(failedCheck) : undefined;
  throw new ApiError("AuthBadUsernameOrPassword", message);
}

function describeRefusal(failedCheck: IdTokenCheck | "provider"): string {
  return failedCheck === "provider"
    ? "The application has no identity provider of the name identityProviderName."
    : `The id_token was refused: ${idTokenChecks[failedCheck]}`;
}

/** Logs in the user with this identity, who is created at the first login. @throws ApiError AuthUserAccountDisabled */
async function logIn(
  identity: ProvenIdentity,
  claims: Claims,
  caller: Caller,
  call: Call,
  services: Services,
): Promise<SocialLogin & { token: IssuedToken }> {
  const { database, tokens, audit, statistics, events } = services;
  let disabledId: string | undefined;
  const written = database.write(async ({ queries, afterCommit }) => {
    const login = await findOrCreateUser(identity, claims, services, queries);
    const isCounted = login.isNew && caller.isTest !== true;
    if (isCounted) afterCommit(() => statistics.countNew(caller.applicationId, "newUsers"));
    const { id, token_version: tokenVersion, disabled_at } = login.user;
    if (disabled_at !== null) {
      disabledId = id;
      throw new ApiError("AuthUserAccountDisabled");
    }
    const { token, row } = tokens.issueUserToken(caller, { id, tokenVersion });
    await insertUserToken(row, queries);
    await recordSignIn(caller.applicationId, id, login.isNew, events, queries);
    return { ...login, token };
  });
  return written.catch(async (error) => {
    if (disabledId !== undefined) {
      const event = { ...calledBy(caller, call), action: "loginSocialUser", target: disabledId };
      await audit.note({ ...event, ...refusedWith("AuthUserAccountDisabled") });
    }
    throw error;
  });
}

/** Finds the user who proved this identity and records the login, or creates a user. */
async function findOrCreateUser(
  identity: ProvenIdentity,
  claims: Claims,
  services: Services,
  queries: Queries,
): Promise<SocialLogin> {
  const { database, clock } = services;
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
  return { user: await insertSocialUser(identity, claims, services, queries), isNew: true };
}

async function insertSocialUser(
  identity: ProvenIdentity,
  claims: Claims,
  { clock, ids, events }: Services,
  queries: Queries,
): Promise<UserRow> {
  const { applicationId, provider, identifier } = identity;
  const at = clock.now();
  const id = ids.newId("User");
  const userName = socialUserName(provider, identifier);
  let user = newSocialUser({ applicationId, id, userName, at }, claims);
  while (!(await insertUser(user, queries))) {
    user = newSocialUser({ applicationId, id, userName: anotherUserName(userName), at }, claims);
  }
  const formerId = await putProvenIdentity(identity, id, at, queries);
  const lost = formerId === undefined ? [] : [identityEvent("removed", formerId, provider)];
  await events.record(applicationId, [...lost, identityEvent("added", id, provider)], queries);
  return user;
}

/** Login with an id_token of an identity provider (spec/users#social-login). */
export const userSocialOperations = [loginSocialUser];
