import { calledBy } from "../audit/audit.events.ts";
import { userTicket } from "../auth/guard/hash-queue.ts";
import { lockSession, noteRenewals, updateSession } from "../auth/token-renewals.ts";
import { insertUserToken, listUserTokens } from "../auth/user-tokens.ts";
import { Type } from "../contract/schema.ts";
import type { Queries } from "../db/database.ts";
import type { UserRow } from "../db/tables.ts";
import { ApiError } from "../lib/errors.ts";
import { languageTag } from "../lib/languages.ts";
import type { Location } from "../lib/locations.ts";
import { operation } from "../operations/operation.ts";
import type { Services } from "../operations/services.ts";
import { sessionMsDefault } from "../tenancy/application-settings.ts";
import {
  CreateUser,
  DeviceToken,
  genders,
  ListTokens,
  presentOwnUser,
  presentUserToken,
  RenewedToken,
  TokenPath,
  UserTokenPage,
  UserWithToken,
} from "./users.contract.ts";
import { requireUserNameKey, userNameTaken } from "./users.names.ts";
import { recognizeDevice } from "./users.recognized-devices.ts";
import { recordSignIn, signOut } from "./users.signing.ts";
import { findUserByName, insertUser, newUserRow, updateUser } from "./users.store.ts";

/** Renewal of user tokens (spec/authentication#renewal). */
const renewToken = operation({
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
      if (session === undefined) throw new ApiError("AuthAccessTokenInvalid"); // revoked after the token check
      const sessionEndsAt = session.created_at + sessionMs;
      if (sessionEndsAt <= now) throw new ApiError("AuthAPICallDisabledByDeveloper", sessionTooOld);
      const isKnown = session.renewals > renewals;
      const latest = Math.min(now + tokens.userLifetimeMs(policy), sessionEndsAt);
      const expires_at = isKnown ? Math.min(session.expires_at, latest) : latest;
      if (isKnown) return expires_at;
      // The predecessor stays valid until it expires, which may be later if the lifetime was shortened.
      const lasting = Math.max(session.expires_at, expires_at);
      await updateSession(caller, { renewals: renewals + 1, expires_at: lasting }, queries);
      if (await noteRenewals(applicationId, queries)) await revocations.invalidatePolicies(applicationId, transaction);
      return expires_at;
    });
    return tokens.renewUserToken(caller, expiresAt);
  },
});

const sessionTooOld = "The user has signed in too long ago: the application limits sessions.";

const createUser = operation({
  method: "POST",
  path: "/users",
  operation: "createUser",
  summary: "Create a user",
  description: "Creates a user with a name that is unique in the application, and signs the user in on this device.",
  tag: "Users",
  caller: "device",
  addressLimit: "signUps",
  parameters: CreateUser,
  status: 200,
  result: UserWithToken,
  errors: ["ItemAlreadyExists"],
  async handle({ caller, call, parameters }, services) {
    const { database, tokens, passwords, pictureUrl, clock, ids, statistics, events } = services;
    const { applicationId, deviceId, isTest = false } = caller;
    const nameKey = requireUserNameKey(parameters.username);
    await services.newPasswords.require(parameters.password, "password", caller.policy.passwords);
    const isTaken = (await findUserByName(applicationId, parameters.username, database.reads)) !== undefined;
    if (isTaken) throw userNameTaken(); // avoids hashing a password in vain; the insert below decides
    const password_hash = await passwords.hash(parameters.password, userTicket(applicationId, call));
    const now = clock.now();
    const id = ids.newId("User");
    const { token, row } = tokens.issueUserToken(caller, { id, tokenVersion: 0 });
    const user = newUserRow({
      application_id: applicationId,
      id,
      user_name: parameters.username,
      user_name_key: nameKey,
      password_hash,
      email: parameters.email || null, // a blank address means no address
      first_name: parameters.firstName ?? null,
      last_name: parameters.lastName ?? null,
      gender: parameters.gender === undefined ? null : genders.indexOf(parameters.gender),
      date_of_birth: parameters.dateOfBirth ?? null,
      tag: parameters.tag ?? null,
      language: languageTag(parameters.language ?? "") ?? null,
      created_at: now,
    });
    const created = await database.write(async ({ queries, afterCommit }) => {
      if (!(await insertUser(user, queries))) throw userNameTaken();
      if (!isTest) afterCommit(() => statistics.countNew(applicationId, "newUsers"));
      await insertUserToken(row, queries);
      const device = { application_id: applicationId, user_id: id, device_id: deviceId };
      await recognizeDevice({ ...device, recognized_at: now }, queries);
      const located = await locateUser(user, parameters.location, services, queries);
      await recordSignIn(applicationId, id, true, events, queries);
      return located;
    });
    return { ...presentOwnUser(created, pictureUrl), ...token };
  },
});

/**
 * Stores the location of a new user.
 *
 * @returns the user with its location
 */
async function locateUser(
  user: UserRow,
  location: Location | undefined,
  { fuzzing }: Services,
  queries: Queries,
): Promise<UserRow> {
  if (location === undefined) return user;
  const { application_id: applicationId, id: userId } = user;
  const located = await fuzzing.locateAs("profile", { applicationId, userId, setterId: userId, location }, queries);
  await updateUser(applicationId, userId, located, queries);
  return { ...user, ...located };
}

const logoutUser = operation({
  method: "POST",
  path: "/users/me/logout",
  operation: "logoutUser",
  summary: "Log out: end this user token",
  description: "Ends the user token of the call at once, and answers with a new device token.",
  tag: "Users",
  caller: "user",
  parameters: Type.Object({}),
  status: 200,
  result: DeviceToken,
  errors: [],
  async handle({ caller }, services) {
    const { applicationId, userId, tokenId } = caller;
    const { database, tokens } = services;
    await database.write((transaction) => signOut(applicationId, userId, tokenId, services, transaction));
    return tokens.issueDeviceToken(caller);
  },
});

const listTokens = operation({
  method: "GET",
  path: "/users/me/tokens",
  operation: "listTokens",
  summary: "List the active tokens of the current user, newest first",
  description: "One entry for each login.",
  tag: "Users",
  caller: "user",
  parameters: ListTokens,
  status: 200,
  result: UserTokenPage,
  errors: [],
  async handle({ caller, parameters, call }, { database, tokenUses, paging, clock }) {
    const { applicationId, userId, tokenId } = caller;
    const request = await paging.read("tokens", caller, parameters, call);
    await tokenUses.save(userId);
    const { position, size } = request;
    const now = clock.now();
    const page = await listUserTokens(applicationId, userId, now, position, size, database.reads, call.work);
    return paging.present("tokens", caller, request, page, (token) => presentUserToken(token, tokenId));
  },
});

const endToken = operation({
  method: "DELETE",
  path: "/users/me/tokens/{tokenId}",
  operation: "endToken",
  summary: "End one token of the current user",
  description: "Calls with that token are refused from now on; its device has to log in again.",
  tag: "Users",
  caller: "user",
  pathParameters: TokenPath,
  status: 200,
  result: Type.Literal(true),
  errors: ["ItemDoesNotExist"],
  async handle({ caller, path: { tokenId }, call }, services) {
    const { applicationId, userId } = caller;
    const { database, audit } = services;
    const isEnded = await database.write(async (transaction) => {
      const isRevoked = await signOut(applicationId, userId, tokenId, services, transaction);
      const event = { ...calledBy(caller, call), action: "endToken", target: tokenId };
      if (isRevoked) await audit.recordRepeatable(event, transaction);
      return isRevoked;
    });
    if (!isEnded) throw new ApiError("ItemDoesNotExist");
    return true as const;
  },
});

/** Sign-up, logout, and the user's tokens (spec/users#sign-up-login-logout). */
export const userSessionOperations = [createUser, logoutUser, renewToken, listTokens, endToken];
