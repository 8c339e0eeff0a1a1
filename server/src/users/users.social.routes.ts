import { calledBy, refusedWith } from "../audit/audit.events.ts";
import { type IdTokenCheck, idTokenChecks } from "../auth/oidc.ts";
import type { IssuedToken } from "../auth/tokens.ts";
import { insertUserToken } from "../auth/user-tokens.ts";
import type { Call } from "../contract/call.ts";
import type { Caller } from "../contract/route.ts";
import { extended, type Schema, type Static, Type } from "../contract/schema.ts";
import { readWireValue, Text } from "../contract/wire.ts";
import type { Queries } from "../db/database.ts";
import { lockName } from "../db/lock.ts";
import type { UserRow } from "../db/tables.ts";
import { identityEvent } from "../event-log/recorder.ts";
import { ApiError } from "../lib/errors.ts";
import { takeRandomBytes } from "../lib/random.ts";
import { digestSecret } from "../lib/secrets.ts";
import { operation } from "../operations/operation.ts";
import type { Services } from "../operations/services.ts";
import { CreateUser, presentOwnUser, UserWithToken } from "./users.contract.ts";
import { userChangedEvent } from "./users.events.ts";
import { requireUserNameKey } from "./users.names.ts";
import { recordSignIn } from "./users.signing.ts";
import { insertUser, newUserRow, updateUser, updateUserLogin } from "./users.store.ts";
import { isEmailVerified, verifiedColumns } from "./users.verified-addresses.ts";

/** Some providers send the text `"true"`. */
function isVerifiedByProvider(claims: Claims): boolean {
  return claims["email_verified"] === true || claims["email_verified"] === "true";
}

/** The row of a new user, from the claims of the id_token. */
function newSocialUser(
  user: { readonly applicationId: string; readonly id: string; readonly userName: string; readonly at: number },
  claims: Readonly<Record<string, unknown>>,
): UserRow {
  const { email, firstName, lastName } = CreateUser.properties;
  return newUserRow({
    application_id: user.applicationId,
    id: user.id,
    user_name: user.userName,
    user_name_key: requireUserNameKey(user.userName),
    password_hash: "",
    // An address that the provider has not verified may belong to another person, who would receive password resets.
    email: isVerifiedByProvider(claims) ? readClaim(email, claims["email"]) || null : null,
    first_name: readClaim(firstName, claims["given_name"]),
    last_name: readClaim(lastName, claims["family_name"]),
    created_at: user.at,
  });
}

const providerCharactersMax = 40; // the folded user name must fit into an index entry
const digestCharacters = 16;

/**
 * Generates the name of a social user. It does not contain the subject, because other users see it and the subject
 * would identify the person at other services.
 */
export function socialUserName(provider: string, subject: string): string {
  const shownProvider = [...provider].slice(0, providerCharactersMax).join("");
  return `${shownProvider}-${digestSecret(`${provider}\0${subject}`).slice(0, digestCharacters)}`;
}

/** Returns an alternative for a name that is taken. */
function anotherUserName(userName: string): string {
  return `${userName}-${takeRandomBytes(6).toString("hex")}`;
}

/** Returns a string claim that is valid under the contract, or null. */
function readClaim(schema: Schema, claim: unknown): string | null {
  if (typeof claim !== "string" || claim === "") return null;
  return "value" in readWireValue(schema, claim) ? claim : null;
}

const LoginSocialUser = Type.Object({
  identityProviderName: Text({
    maxLength: 256,
    alias: "identityProviderId",
    description: "As in the settings of the application.",
  }),
  identityID: Text({ maxLength: 256, description: "The subject (sub) of the id_token." }),
  identityAccessToken: Text({ maxLength: 16_384, description: "An OpenID Connect id_token." }),
});

const SocialUserWithToken = extended(
  "SocialUserWithToken",
  "A user who logged in with an identity provider, and a new token of the user.",
  UserWithToken,
  { isNew: Type.Boolean({ description: "True when this login created the user." }) },
);

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
  // Outside the transaction, because it may have to fetch the provider's keys.
  const verified = `id_token ${identityProviderName} ${identityID} ${identityAccessToken}`;
  const result =
    provider === undefined
      ? ({ failedCheck: "provider" } as const)
      : await database.outsideTransaction(verified, () => idTokens.verify(identityAccessToken, identityID, provider));
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

/** Logs in the user with this identity; the first login creates the user. @throws ApiError AuthUserAccountDisabled */
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
    const signedIn = await findOrCreateUser(identity, claims, services, queries);
    const login = { ...signedIn, user: await verifyAddress(signedIn, claims, services, queries) };
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

/** Notes that the provider has verified the user's address (spec/users#verified-addresses). @returns the user */
async function verifyAddress(
  { user, isNew }: SocialLogin,
  claims: Claims,
  { database, clock, events }: Services,
  queries: Queries,
): Promise<UserRow> {
  const { email } = claims;
  if (!isVerifiedByProvider(claims) || typeof email !== "string" || isEmailVerified(user)) return user;
  const columns = await verifiedColumns(user, email, { dialect: database.dialect, now: clock.now() }, queries);
  if (columns.verified_email_key === undefined) return user;
  const { application_id: applicationId, id } = user;
  await updateUser(applicationId, id, columns, queries);
  const verified = { ...user, ...columns };
  if (!isNew) await events.record(applicationId, userChangedEvent(user, verified), queries);
  return verified;
}

/** Finds the user who proved this identity and records the login, or creates a user. */
async function findOrCreateUser(
  identity: ProvenIdentity,
  claims: Claims,
  services: Services,
  queries: Queries,
): Promise<SocialLogin> {
  const { database, clock } = services;
  async function logInExisting(): Promise<UserRow | undefined> {
    const found = await findUserByProof(identity, queries);
    return found && updateUserLogin(identity.applicationId, { userId: found.id, at: clock.now() }, queries);
  }
  const existing = await logInExisting();
  if (existing !== undefined) return { user: existing, isNew: false };
  // Serializes first logins with one identity: each repeats the lookup after the previous one.
  await lockName(database.dialect, `social login ${JSON.stringify(identity)}`, queries);
  const found = await logInExisting();
  if (found !== undefined) return { user: found, isNew: false };
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

/** A user's identity at a provider. */
interface ProvenIdentity {
  readonly applicationId: string;
  readonly provider: string;
  readonly identifier: string;
}

/** Finds the user who proved this identity. Ignores users who merely claimed it, and deleted ones. */
async function findUserByProof(identity: ProvenIdentity, queries: Queries): Promise<UserRow | undefined> {
  return queries
    .selectFrom("identities as identity")
    .innerJoin("users as user", (join) =>
      join.onRef("user.application_id", "=", "identity.application_id").onRef("user.id", "=", "identity.user_id"),
    )
    .selectAll("user")
    .where("identity.application_id", "=", identity.applicationId)
    .where("identity.provider", "=", identity.provider)
    .where("identity.identifier", "=", identity.identifier)
    .where("identity.is_verified", "=", 1)
    .where("user.deleted_at", "is", null)
    .executeTakeFirst();
}

/**
 * Assigns an identity to the user who proved it, and removes it from the user who claimed it.
 *
 * @returns the id of the user who loses it
 */
async function putProvenIdentity(
  { applicationId, provider, identifier }: ProvenIdentity,
  userId: string,
  at: number,
  queries: Queries,
): Promise<string | undefined> {
  const former = await queries
    .selectFrom("identities")
    .select("user_id")
    .where("application_id", "=", applicationId)
    .where("provider", "=", provider)
    .where("identifier", "=", identifier)
    .executeTakeFirst();
  const held = { user_id: userId, created_at: at, is_verified: 1 };
  await queries
    .insertInto("identities")
    .values({ application_id: applicationId, provider, identifier, ...held })
    .onConflict((conflict) => conflict.columns(["application_id", "provider", "identifier"]).doUpdateSet(held))
    .execute();
  return former?.user_id;
}
