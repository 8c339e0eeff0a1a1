import type { Passwords } from "../auth/passwords.ts";
import type { Revocations } from "../auth/revocations.ts";
import type { Tokens } from "../auth/tokens.ts";
import type { Database } from "../db/database.ts";
import type { NewUserRow } from "../db/tables.ts";
import { ApiError } from "../errors.ts";
import { type Route, route } from "../http/route.ts";
import { Type } from "../http/schema.ts";
import type { Clock } from "../lib/clock.ts";
import type { IdGenerator } from "../lib/ids.ts";
import { CreateUser, DeviceToken, LoginUser, OwnUser, presentOwnUser, UserWithToken } from "./users.contract.ts";
import { requireUserNameKey, userNameKey } from "./users.names.ts";
import { findUser, findUserByName, insertUser, updateUserLogin } from "./users.store.ts";

/** Sign-up, login, logout and one's own profile (service.md "Endpoints", surface.md section 5). */
export function usersRoutes(services: {
  readonly database: Database;
  readonly tokens: Tokens;
  readonly passwords: Passwords;
  readonly revocations: Revocations;
  readonly clock: Clock;
  readonly ids: IdGenerator;
}): Route[] {
  const { database, tokens, passwords, revocations, clock, ids } = services;

  const createUser = route({
    method: "POST",
    path: "/users",
    operation: "createUser",
    summary: "Create a user",
    tag: "Users",
    caller: "device",
    parameters: CreateUser,
    status: 200,
    result: UserWithToken,
    errors: ["ItemAlreadyExists"],
    async handle({ caller, parameters }) {
      const { applicationId } = caller;
      const nameKey = requireUserNameKey(parameters.username);
      const isTaken = (await findUserByName(applicationId, nameKey, database.reads)) !== undefined;
      if (isTaken) throw userNameTaken(); // saves the hash; the insert below decides

      const password_hash = await passwords.hash(parameters.password);
      const now = clock.now();
      const user: NewUserRow & { email: string | null; first_name: string | null; last_name: string | null } = {
        application_id: applicationId,
        id: ids.newId("User"),
        user_name: parameters.username,
        user_name_key: nameKey,
        password_hash,
        email: parameters.email ?? null,
        first_name: parameters.firstName ?? null,
        last_name: parameters.lastName ?? null,
        celeb_mode: 0,
        location_fuzzing: 0,
        token_version: 0,
        last_login_at: now,
        created_at: now,
        modified_at: now,
      };
      const isInserted = await database.write(({ queries }) => insertUser(user, queries));
      if (!isInserted) throw userNameTaken();
      return {
        ...presentOwnUser(user),
        ...tokens.issueUserToken(caller, { id: user.id, tokenVersion: user.token_version }),
      };
    },
  });

  const loginUser = route({
    method: "POST",
    path: "/users/login",
    operation: "loginUser",
    summary: "Log in a user",
    tag: "Users",
    caller: "device",
    parameters: LoginUser,
    status: 200,
    result: UserWithToken,
    errors: ["AuthBadUsernameOrPassword"],
    async handle({ caller, parameters: { username, password } }) {
      const { applicationId } = caller;
      const found = await findUserByName(applicationId, userNameKey(username), database.reads);
      const isRight = await passwords.verify(found?.password_hash, password);
      if (found === undefined || !isRight) throw new ApiError("AuthBadUsernameOrPassword");

      const from = found.password_hash;
      const rehash = passwords.isOutdated(from) ? { rehash: { from, to: await passwords.hash(password) } } : {};
      const user = await database.write(({ queries }) =>
        updateUserLogin(applicationId, { userId: found.id, at: clock.now(), ...rehash }, queries),
      );
      if (user === undefined) throw new ApiError("AuthBadUsernameOrPassword");
      return {
        ...presentOwnUser(user),
        // The version that was read before the check: if the password was changed since, this token is dead already.
        ...tokens.issueUserToken(caller, { id: found.id, tokenVersion: found.token_version }),
      };
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
        revocations.endToken(
          caller.applicationId,
          { id: caller.tokenId, expiresAt: caller.tokenExpiresAt },
          transaction,
        ),
      );
      return tokens.issueDeviceToken(caller);
    },
  });

  const getOwnUser = route({
    method: "GET",
    path: "/users/me",
    operation: "getOwnUser",
    summary: "Read one's own profile",
    tag: "Users",
    caller: "user",
    status: 200,
    result: OwnUser,
    errors: [],
    async handle({ caller }) {
      const user = await findUser(caller.applicationId, caller.userId, database.reads);
      if (user === undefined) throw new ApiError("AuthAccessTokenInvalid"); // deleted since the token was checked
      return presentOwnUser(user);
    },
  });

  return [createUser, loginUser, logoutUser, getOwnUser];
}

function userNameTaken(): ApiError {
  return new ApiError("ItemAlreadyExists", "The username is already in use. Choose a unique username.");
}
