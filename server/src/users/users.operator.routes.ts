import { requireApplication } from "../auth/operated-application.ts";
import type { Revocations } from "../auth/revocations.ts";
import type { Background } from "../background.ts";
import type { Database, Queries } from "../db/database.ts";
import { searchPage } from "../db/search.ts";
import type { UserRow } from "../db/tables.ts";
import { ApiError } from "../errors.ts";
import type { Paging } from "../http/paging.ts";
import { type Route, route } from "../http/route.ts";
import { Type } from "../http/schema.ts";
import type { Clock } from "../lib/clock.ts";
import { eraseUser } from "./users.erasure.ts";
import { deleteUserByOperator, updateUserDisabled } from "./users.operated.ts";
import {
  EraseUser,
  OperatedUserPage,
  OperatedUserPath,
  OperatedUsersPath,
  OperatedUserWithCounts,
  presentOperatedUser,
  SearchOperatedUsers,
} from "./users.operator.contract.ts";
import { operatedUserSearch } from "./users.operator.search.ts";
import { countOfUser } from "./users.operator.store.ts";
import { createInSteps } from "./users.steps.ts";
import { findUser } from "./users.store.ts";

/** How operators view and manage an application's users. */
export function usersOperatorRoutes(services: {
  readonly database: Database;
  readonly revocations: Revocations;
  readonly background: Background;
  readonly paging: Paging;
  readonly clock: Clock;
}): Route[] {
  const { database, revocations, background, paging, clock } = services;
  const inSteps = createInSteps(background);

  const searchUsers = route({
    method: "GET",
    path: "/_/api/applications/{appid}/users",
    operation: "searchOperatedUsers",
    summary: "Search the users of an application, whatever they show to others",
    tag: "Operators",
    caller: "operator",
    pathParameters: OperatedUsersPath,
    parameters: SearchOperatedUsers,
    status: 200,
    result: OperatedUserPage,
    errors: ["ItemDoesNotExist"],
    async handle({ caller, path: { appid }, parameters, call }) {
      const listing = `users of ${appid}`;
      const request = await paging.read(listing, caller, parameters, call);
      await requireApplication(appid, database.reads);
      const search = operatedUserSearch(appid, request.filters);
      const page = await searchPage(search, request.position, request.size, database.reads, call.work);
      return paging.present(listing, caller, request, page, presentOperatedUser);
    },
  });

  const getUser = route({
    method: "GET",
    path: "/_/api/applications/{appid}/users/{userId}",
    operation: "getOperatedUser",
    summary: "Read a user: the profile, the true location, and how much the user has",
    tag: "Operators",
    caller: "operator",
    pathParameters: OperatedUserPath,
    status: 200,
    result: OperatedUserWithCounts,
    errors: ["ItemDoesNotExist"],
    handle: async ({ path: { appid, userId } }) => presentWithCounts(await requireUser(appid, userId, database.reads)),
  });

  async function presentWithCounts(user: UserRow) {
    const counts = await countOfUser(user.application_id, user.id, database.reads);
    return { ...presentOperatedUser(user), counts };
  }

  const setDisabled = (isDisabled: boolean) =>
    route({
      method: "POST",
      path: `/_/api/applications/{appid}/users/{userId}/${isDisabled ? "disable" : "enable"}`,
      operation: `${isDisabled ? "disable" : "enable"}User`,
      summary: isDisabled
        ? "Keep a user from signing in, and from using the tokens that there are, until the user is enabled"
        : "Let a user sign in again, and use the tokens that there are",
      tag: "Operators",
      caller: "operator",
      pathParameters: OperatedUserPath,
      parameters: Type.Object({}),
      status: 200,
      result: OperatedUserWithCounts,
      errors: ["ItemDoesNotExist"],
      async handle({ path: { appid, userId } }) {
        const user = await database.write(async (transaction) => {
          await requireUser(appid, userId, transaction.queries);
          const disabledAt = isDisabled ? clock.now() : null;
          return updateUserDisabled(appid, userId, disabledAt, revocations, transaction);
        });
        if (user === undefined) throw new ApiError("ItemDoesNotExist");
        return presentWithCounts(user);
      },
    });

  const endTokens = route({
    method: "POST",
    path: "/_/api/applications/{appid}/users/{userId}/revoke-tokens",
    operation: "endTokensOfUser",
    summary: "End all tokens of a user: on every device one has to sign in again",
    tag: "Operators",
    caller: "operator",
    pathParameters: OperatedUserPath,
    parameters: Type.Object({}),
    status: 200,
    result: Type.Literal(true),
    errors: ["ItemDoesNotExist"],
    async handle({ path: { appid, userId } }) {
      await database.write(async (transaction) => {
        await requireUser(appid, userId, transaction.queries);
        await revocations.endUserTokens(appid, userId, transaction);
      });
      return true as const;
    },
  });

  const erase = route({
    method: "DELETE",
    path: "/_/api/applications/{appid}/users/{userId}",
    operation: "eraseUser",
    summary: "Delete a user, and all that the user owns",
    tag: "Operators",
    caller: "operator",
    pathParameters: OperatedUserPath,
    parameters: EraseUser,
    status: 200,
    result: Type.Literal(true),
    errors: ["ItemDoesNotExist"],
    async handle({ path: { appid, userId }, parameters: { confirm } }) {
      if (confirm !== userId) throw new ApiError("ParameterOutOfRange", "confirm must be the id of the user.");
      await database.write(async (transaction) => {
        await requireApplication(appid, transaction.queries);
        const isThere = await deleteUserByOperator(
          appid,
          userId,
          clock.now(),
          database.dialect,
          revocations,
          transaction,
        );
        if (!isThere) throw new ApiError("ItemDoesNotExist");
      });
      await inSteps("eraseUser", (limits) => eraseUser(appid, userId, database, limits));
      return true as const;
    },
  });

  return [searchUsers, getUser, setDisabled(true), setDisabled(false), endTokens, erase];
}

/** @throws ApiError ItemDoesNotExist */
async function requireUser(applicationId: string, userId: string, queries: Queries): Promise<UserRow> {
  await requireApplication(applicationId, queries);
  const user = await findUser(applicationId, userId, queries);
  if (user === undefined) throw new ApiError("ItemDoesNotExist");
  return user;
}
