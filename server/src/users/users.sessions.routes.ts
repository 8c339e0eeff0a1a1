import { calledBy, refusedWith } from "../audit/audit.events.ts";
import type { Audit } from "../audit/audit.ts";
import { userTicket } from "../auth/hash-queue.ts";
import type { Passwords } from "../auth/passwords.ts";
import { isRecognitionDue, recognizeDevice } from "../auth/recognized-devices.ts";
import type { Revocations } from "../auth/revocations.ts";
import type { SignInGuard } from "../auth/sign-in-guard.ts";
import type { TokenUses } from "../auth/token-uses.ts";
import type { Tokens } from "../auth/tokens.ts";
import { insertUserToken, listUserTokens } from "../auth/user-tokens.ts";
import type { Database } from "../db/database.ts";
import { ApiError } from "../errors.ts";
import type { Paging } from "../http/paging.ts";
import { type Route, route } from "../http/route.ts";
import { Type } from "../http/schema.ts";
import type { Clock } from "../lib/clock.ts";
import type { IdGenerator } from "../lib/ids.ts";
import type { Fuzzing } from "../privacy/fuzzing.ts";
import {
  CreateUser,
  DeviceToken,
  genders,
  ListTokens,
  LoginUser,
  type PictureUrl,
  presentOwnUser,
  presentUserToken,
  TokenPath,
  UserTokenPage,
  UserWithToken,
} from "./users.contract.ts";
import { requireUserNameKey, userNameKey, userNameTaken } from "./users.names.ts";
import {
  findUserByName,
  findUserForLogin,
  insertUser,
  newUserRow,
  updateUser,
  updateUserLogin,
} from "./users.store.ts";

/** Sign-up, login, logout, and the user's tokens (spec/users#sign-up-login-logout). */
export function usersSessionsRoutes(services: {
  readonly database: Database;
  readonly tokens: Tokens;
  readonly tokenUses: TokenUses;
  readonly passwords: Passwords;
  readonly signInGuard: SignInGuard;
  readonly revocations: Revocations;
  readonly paging: Paging;
  readonly fuzzing: Fuzzing;
  readonly pictureUrl: PictureUrl;
  readonly audit: Audit;
  readonly clock: Clock;
  readonly ids: IdGenerator;
}): Route[] {
  const { database, tokens, tokenUses, passwords, signInGuard, revocations, paging, fuzzing } = services;
  const { pictureUrl, audit, clock, ids } = services;

  const createUser = route({
    method: "POST",
    path: "/users",
    operation: "createUser",
    summary: "Create a user",
    tag: "Users",
    caller: "device",
    addressLimit: "signUps",
    parameters: CreateUser,
    status: 200,
    result: UserWithToken,
    errors: ["ItemAlreadyExists"],
    async handle({ caller, call, parameters }) {
      const { applicationId, deviceId } = caller;
      const { location } = parameters;
      const nameKey = requireUserNameKey(parameters.username);
      const isTaken = (await findUserByName(applicationId, parameters.username, database.reads)) !== undefined;
      if (isTaken) throw userNameTaken(); // saves the hash; the insert below decides
      const password_hash = await passwords.hash(parameters.password, userTicket(applicationId, call));
      const now = clock.now();
      const id = ids.newId("User");
      const { token, row } = tokens.issueUserToken(caller, { id, tokenVersion: 0 });
      const user = await database.write(async ({ queries }) => {
        const created = newUserRow({
          application_id: applicationId,
          id,
          user_name: parameters.username,
          user_name_key: nameKey,
          password_hash,
          email: parameters.email ?? null,
          first_name: parameters.firstName ?? null,
          last_name: parameters.lastName ?? null,
          gender: parameters.gender === undefined ? null : genders.indexOf(parameters.gender),
          date_of_birth: parameters.dateOfBirth ?? null,
          tag: parameters.tag ?? null,
          created_at: now,
        });
        if (!(await insertUser(created, queries))) throw userNameTaken();
        await insertUserToken(row, queries);
        await recognizeDevice(
          { application_id: applicationId, user_id: id, device_id: deviceId, recognized_at: now },
          queries,
        );
        if (location === undefined) return created;
        const located = await fuzzing.locateAs(
          "profile",
          { applicationId, userId: id, setterId: id, location },
          queries,
        );
        await updateUser(applicationId, id, located, queries);
        return { ...created, ...located };
      });
      return { ...presentOwnUser(user, pictureUrl), ...token };
    },
  });

  const loginUser = route({
    method: "POST",
    path: "/users/login",
    operation: "loginUser",
    summary: "Log in a user",
    tag: "Users",
    caller: "device",
    addressLimit: "logins",
    parameters: LoginUser,
    status: 200,
    result: UserWithToken,
    errors: ["AuthBadUsernameOrPassword"],
    async handle({ caller, call, parameters: { username, password } }) {
      const { applicationId, deviceId } = caller;
      const nameKey = userNameKey(username);
      const found = await findUserForLogin(applicationId, username, deviceId, database.reads);
      const recognizedAt = found?.recognized_at ?? null;
      const isOwnToken = caller.userId !== undefined && caller.userId === found?.id;
      const recognizedOrigin = recognizedAt !== null || isOwnToken ? deviceId : undefined;
      const storedHash = found?.password_hash || undefined; // users of social logins have none
      const signal = call.whenGone?.();
      const attempt = { applicationId, nameKey, deviceId, address: call.address, recognizedOrigin, signal };
      let ticket = userTicket(applicationId, call);
      // Outside the transaction, so that a batch that rolls back does not uncount the attempts.
      const isRight = await database.apart(
        `login ${storedHash} ${nameKey} ${password}`,
        () =>
          signInGuard.check(attempt, (isRecognized) => {
            if (isRecognized) ticket = userTicket(applicationId, call, found?.id);
            return passwords.verify(storedHash, password, ticket);
          }),
        { hasEffect: true },
      );
      const refused =
        found === undefined || !isRight
          ? "AuthBadUsernameOrPassword"
          : found.disabled_at !== null && "AuthUserAccountDisabled";
      if (found === undefined || refused) {
        const condition = refused || "AuthBadUsernameOrPassword";
        const event = { ...calledBy(caller, call), action: "loginUser", target: found?.id };
        await audit.note({ ...event, ...refusedWith(condition) });
        throw new ApiError(condition);
      }
      const from = found.password_hash;
      const rehash = passwords.isOutdated(from) ? { rehash: { from, to: await passwords.hash(password, ticket) } } : {};
      // Issued under the version that was read before the check: a concurrent password change ends this token.
      const { token, row } = tokens.issueUserToken(caller, { id: found.id, tokenVersion: found.token_version });
      const user = await database.write(async ({ queries }) => {
        const login = { userId: found.id, at: clock.now(), ...rehash };
        const updated = await updateUserLogin(applicationId, login, queries);
        if (updated === undefined) throw new ApiError("AuthBadUsernameOrPassword");
        await insertUserToken(row, queries);
        if (isRecognitionDue(recognizedAt, login.at)) {
          const device = { application_id: applicationId, user_id: found.id, device_id: deviceId };
          await recognizeDevice({ ...device, recognized_at: login.at }, queries);
        }
        return updated;
      });
      return { ...presentOwnUser(user, pictureUrl), ...token };
    },
  });

  const logoutUser = route({
    method: "POST",
    path: "/users/me/logout",
    operation: "logoutUser",
    summary: "Log out: end this user token",
    tag: "Users",
    caller: "user",
    parameters: Type.Object({}),
    status: 200,
    result: DeviceToken,
    errors: [],
    async handle({ caller }) {
      await database.write((transaction) =>
        revocations.endToken(caller.applicationId, caller.userId, caller.tokenId, transaction),
      );
      return tokens.issueDeviceToken(caller);
    },
  });

  const listTokens = route({
    method: "GET",
    path: "/users/me/tokens",
    operation: "listTokens",
    summary: "List one's live tokens, newest first",
    tag: "Users",
    caller: "user",
    parameters: ListTokens,
    status: 200,
    result: UserTokenPage,
    errors: [],
    async handle({ caller, parameters, call }) {
      const { applicationId, userId, tokenId } = caller;
      const request = await paging.read("tokens", caller, parameters, call);
      await tokenUses.save(userId);
      const { position, size } = request;
      const now = clock.now();
      const page = await listUserTokens(applicationId, userId, now, position, size, database.reads, call.work);
      return paging.present("tokens", caller, request, page, (token) => presentUserToken(token, tokenId));
    },
  });

  const endToken = route({
    method: "DELETE",
    path: "/users/me/tokens/{tokenId}",
    operation: "endToken",
    summary: "End one of one's tokens",
    tag: "Users",
    caller: "user",
    pathParameters: TokenPath,
    status: 200,
    result: Type.Literal(true),
    errors: ["ItemDoesNotExist"],
    async handle({ caller, path: { tokenId }, call }) {
      const { applicationId, userId } = caller;
      const isEnded = await database.write(async (transaction) => {
        const isThere = await revocations.endToken(applicationId, userId, tokenId, transaction);
        const event = { ...calledBy(caller, call), action: "endToken", target: tokenId };
        if (isThere) await audit.recordRepeatable(event, transaction);
        return isThere;
      });
      if (!isEnded) throw new ApiError("ItemDoesNotExist");
      return true as const;
    },
  });

  return [createUser, loginUser, logoutUser, listTokens, endToken];
}
