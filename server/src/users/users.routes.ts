import type { Passwords } from "../auth/passwords.ts";
import type { Revocations } from "../auth/revocations.ts";
import type { Background } from "../background.ts";
import type { Database } from "../db/database.ts";
import { isUniqueViolation } from "../db/dialect.ts";
import { lockRow } from "../db/lock.ts";
import { searchPage } from "../db/search.ts";
import type { UserRow } from "../db/tables.ts";
import { ApiError } from "../errors.ts";
import type { Paging } from "../http/paging.ts";
import { type Route, route, type UserCaller } from "../http/route.ts";
import { type Static, Type } from "../http/schema.ts";
import { changedText, resolveUserId } from "../http/wire.ts";
import type { Clock } from "../lib/clock.ts";
import type { Fuzzing } from "../privacy/fuzzing.ts";
import { reshiftUser } from "../privacy/reshifting.ts";
import {
  ChangeUser,
  genders,
  OwnUser,
  presentOwnUser,
  presentUser,
  SearchUsers,
  ShownUser,
  UserPage,
  UserPath,
} from "./users.contract.ts";
import { eraseUser, updateUserDeleted } from "./users.erasure.ts";
import { requireUserNameKey, userNameTaken } from "./users.names.ts";
import { deleteResetCodes } from "./users.password.store.ts";
import { userSearch } from "./users.search.ts";
import { findShownUser, findUser, updateUser } from "./users.store.ts";

/** So much of what a change brings with it is done before it is answered; the rest follows. */
const stepsBeforeAnswer = 8;

/** Profiles: reading, searching, changing and deleting users (surface.md section 5). */
export function usersRoutes(services: {
  readonly database: Database;
  readonly passwords: Passwords;
  readonly revocations: Revocations;
  readonly paging: Paging;
  readonly fuzzing: Fuzzing;
  readonly background: Background;
  readonly clock: Clock;
}): Route[] {
  const { database, passwords, revocations, paging, fuzzing, background, clock } = services;

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

  const getUser = route({
    method: "GET",
    path: "/users/{userId}",
    operation: "getUser",
    summary: "Read a user's profile; the user itself sees all of it",
    tag: "Users",
    caller: "user",
    pathParameters: UserPath,
    status: 200,
    result: ShownUser,
    errors: ["ItemDoesNotExist"],
    async handle({ caller: { applicationId, userId }, path }) {
      const user = await findShownUser(applicationId, userId, resolveUserId(path.userId, userId), database.reads);
      if (user === undefined) throw new ApiError("ItemDoesNotExist");
      return presentUser(user, userId);
    },
  });

  const searchUsers = route({
    method: "GET",
    path: "/users",
    operation: "searchUsers",
    summary: "Search the users of the application",
    tag: "Users",
    caller: "user",
    parameters: SearchUsers,
    status: 200,
    result: UserPage,
    errors: [],
    async handle({ caller, parameters }) {
      const request = paging.read("users", caller, parameters);
      const search = userSearch(caller.applicationId, caller.userId, request.filters);
      const page = await searchPage(search, request.position, request.size, database.reads);
      return paging.present("users", caller, request, page, (row) => presentUser(row, caller.userId));
    },
  });

  /** That a path names the caller. @throws ApiError ItemDoesNotExist, ObjectPermissionDenied */
  async function requireOneself({ applicationId, userId }: UserCaller, path: Static<typeof UserPath>): Promise<void> {
    const id = resolveUserId(path.userId, userId);
    if (id === userId) return;
    const other = await findShownUser(applicationId, userId, id, database.reads);
    throw new ApiError(other === undefined ? "ItemDoesNotExist" : "ObjectPermissionDenied");
  }

  /** The hash of a new password, and the one that it takes the place of. */
  async function changePassword(
    { applicationId, userId }: UserCaller,
    { password, currentPassword }: Static<typeof ChangeUser>,
  ): Promise<{ from: string; to: string } | undefined> {
    if (password === undefined) return undefined;
    if (currentPassword === undefined) {
      throw new ApiError("ParameterMissingRequiredValue", "currentPassword is required with password.");
    }
    const user = await findUser(applicationId, userId, database.reads);
    const from = user?.password_hash ?? "";
    const isRight = await passwords.verify(from === "" ? undefined : from, currentPassword);
    if (!isRight) throw new ApiError("AuthBadUsernameOrPassword");
    return { from, to: await passwords.hash(password) };
  }

  const changeUser = route({
    method: "PATCH",
    path: "/users/{userId}",
    operation: "changeUser",
    summary: "Change one's own profile, settings or password",
    tag: "Users",
    caller: "user",
    pathParameters: UserPath,
    parameters: ChangeUser,
    status: 200,
    result: OwnUser,
    errors: ["ItemDoesNotExist", "ObjectPermissionDenied", "ItemAlreadyExists", "AuthBadUsernameOrPassword"],
    async handle({ caller, path, parameters }) {
      await requireOneself(caller, path);
      const { applicationId, userId } = caller;
      const password = await changePassword(caller, parameters);
      const { user, isFuzzingChanged } = await database.write(async (transaction) => {
        const { queries } = transaction;
        await lockRow(database.dialect, "users", applicationId, userId, queries);
        const found = await findUser(applicationId, userId, queries);
        if (found === undefined) throw new ApiError("AuthAccessTokenInvalid"); // deleted since the token was checked
        if (password !== undefined && password.from !== found.password_hash) {
          throw new ApiError("AuthBadUsernameOrPassword"); // changed since it was checked
        }
        const changed = await changedColumns(found, parameters);
        const withPassword = password === undefined ? changed : { ...changed, password_hash: password.to };
        await updateUser(applicationId, userId, withPassword, queries).catch((error) => {
          throw isUniqueViolation(error) ? userNameTaken() : error;
        });
        if (password !== undefined || changed.email !== found.email) {
          await deleteResetCodes(applicationId, userId, queries);
        }
        if (password !== undefined) {
          await revocations.endOtherUserTokens(applicationId, userId, caller.tokenId, transaction);
        }
        return {
          user: { ...found, ...changed },
          isFuzzingChanged: changed.location_fuzzing !== found.location_fuzzing,
        };

        async function changedColumns(now: UserRow, given: Static<typeof ChangeUser>) {
          const isFuzzed = given.locationFuzzing ?? now.location_fuzzing === 1;
          const location =
            given.location ?? (now.lat === null || now.lng === null ? undefined : { lat: now.lat, lng: now.lng });
          const placing = location && { applicationId, userId, setterId: userId, location };
          return {
            ...(given.username !== undefined && {
              user_name: given.username,
              user_name_key: requireUserNameKey(given.username),
            }),
            email: changedText(now.email, given.email),
            first_name: changedText(now.first_name, given.firstName),
            last_name: changedText(now.last_name, given.lastName),
            tag: changedText(now.tag, given.tag),
            ...(given.gender !== undefined && { gender: genders.indexOf(given.gender) }),
            ...(given.dateOfBirth !== undefined && { date_of_birth: given.dateOfBirth }),
            ...(given.celebMode !== undefined && { celeb_mode: given.celebMode ? 1 : 0 }),
            ...(placing && (await fuzzing.locateAs(isFuzzed, placing, queries))),
            location_fuzzing: isFuzzed ? 1 : 0,
            is_reshifting: (isFuzzed ? 1 : 0) === now.location_fuzzing ? now.is_reshifting : 1,
            modified_at: clock.now(),
          };
        }
      });
      if (isFuzzingChanged) {
        await inSteps("reshiftUser", (limits) => reshiftUser(applicationId, userId, { database, fuzzing }, limits));
      }
      return presentOwnUser(user);
    },
  });

  /** Does the first steps now and the others after the answer. */
  async function inSteps(
    name: string,
    work: (limits: { stepsMax?: number; signal?: AbortSignal }) => Promise<boolean>,
  ): Promise<void> {
    // What it follows from has been written: whatever happens here, the answer is that it was.
    const isDone = await work({ stepsMax: stepsBeforeAnswer }).catch(() => false);
    if (isDone) return;
    background.run(name, async (signal) => {
      await work({ signal });
    });
  }

  const deleteUser = route({
    method: "DELETE",
    path: "/users/{userId}",
    operation: "deleteUser",
    summary: "Delete oneself, and all that one owns",
    tag: "Users",
    caller: "user",
    pathParameters: UserPath,
    status: 200,
    result: Type.Literal(true),
    errors: ["ItemDoesNotExist", "ObjectPermissionDenied"],
    async handle({ caller, path }) {
      await requireOneself(caller, path);
      const { applicationId, userId } = caller;
      await database.write((transaction) =>
        updateUserDeleted(applicationId, userId, clock.now(), revocations, transaction),
      );
      await inSteps("eraseUser", (limits) => eraseUser(applicationId, userId, database, limits));
      return true as const;
    },
  });

  return [getOwnUser, getUser, searchUsers, changeUser, deleteUser];
}
