import { requireApplication } from "../auth/operated-application.ts";
import { Type } from "../contract/schema.ts";
import { lockRow } from "../db/lock.ts";
import { searchPage } from "../db/search/search.ts";
import { ApiError } from "../lib/errors.ts";
import { operation } from "../operations/operation.ts";
import type { CommandServices } from "../operations/services.ts";
import { eraseUser, updateUserDeleted } from "./users.erasure.ts";
import { accountEvent } from "./users.events.ts";
import {
  EraseUser,
  OperatedUserPage,
  OperatedUserPath,
  OperatedUsersPath,
  OperatedUserWithCounts,
  presentOperatedUser,
  SearchOperatedUsers,
} from "./users.operator.contract.ts";
import { presentWithCounts, requireOperatedUser } from "./users.operator.reading.ts";
import { operatedUserSearch } from "./users.operator.search.ts";
import { runInSteps } from "./users.steps.ts";
import { updateUser } from "./users.store.ts";

const searchUsers = operation({
  method: "GET",
  path: "/_/api/applications/{appid}/users",
  operation: "searchOperatedUsers",
  summary: "Search the users of an application, including fields they do not show to others",
  description: "Finds disabled users and users with celebMode, too.",
  tag: "Operators",
  caller: "operator",
  pathParameters: OperatedUsersPath,
  parameters: SearchOperatedUsers,
  status: 200,
  result: OperatedUserPage,
  errors: ["ItemDoesNotExist"],
  async handle({ caller, path: { appid }, parameters, call }, { database, paging }) {
    const listing = `users of ${appid}`;
    const request = await paging.read(listing, caller, parameters, call);
    await requireApplication(appid, database.reads);
    const search = operatedUserSearch(appid, request.filters);
    const page = await searchPage(search, request.position, request.size, database.reads, call.work);
    return paging.present(listing, caller, request, page, presentOperatedUser);
  },
});

const getUser = operation({
  method: "GET",
  path: "/_/api/applications/{appid}/users/{userId}",
  operation: "getOperatedUser",
  summary: "Read a user: the profile, the true location and the number of objects",
  description: "Never with the password.",
  tag: "Operators",
  caller: "operator",
  pathParameters: OperatedUserPath,
  status: 200,
  result: OperatedUserWithCounts,
  errors: ["ItemDoesNotExist"],
  async handle({ path: { appid, userId } }, services) {
    return presentWithCounts(await requireOperatedUser(appid, userId, services.database.reads), services);
  },
});

export const disableUser = operation({
  method: "POST",
  path: "/_/api/applications/{appid}/users/{userId}/disable",
  operation: "disableUser",
  summary: "Disable a user: no login, and no use of existing tokens, until the user is enabled",
  description: "The data stays as it is.",
  tag: "Operators",
  caller: "operator",
  pathParameters: OperatedUserPath,
  parameters: Type.Object({}),
  status: 200,
  result: OperatedUserWithCounts,
  errors: ["ItemDoesNotExist"],
  handle: ({ path: { appid, userId } }, services: CommandServices) => setDisabled(appid, userId, true, services),
});

export const enableUser = operation({
  method: "POST",
  path: "/_/api/applications/{appid}/users/{userId}/enable",
  operation: "enableUser",
  summary: "Enable a user: logins and existing tokens work again",
  description: "Has no effect on a user who is not disabled.",
  tag: "Operators",
  caller: "operator",
  pathParameters: OperatedUserPath,
  parameters: Type.Object({}),
  status: 200,
  result: OperatedUserWithCounts,
  errors: ["ItemDoesNotExist"],
  handle: ({ path: { appid, userId } }, services: CommandServices) => setDisabled(appid, userId, false, services),
});

/** A user who is already disabled keeps the original time. */
async function setDisabled(applicationId: string, userId: string, isDisabled: boolean, services: CommandServices) {
  const { database, revocations, clock, events } = services;
  const changed = await database.write(async (transaction) => {
    const user = await requireOperatedUser(applicationId, userId, transaction.queries);
    if ((user.disabled_at !== null) === isDisabled) return user;
    const disabled_at = isDisabled ? clock.now() : null;
    await updateUser(applicationId, userId, { disabled_at }, transaction.queries);
    const event = accountEvent(isDisabled ? "disabled" : "enabled", userId);
    await events.record(applicationId, event, transaction.queries);
    await revocations.invalidateTokens(applicationId, { kind: "user", id: userId }, transaction);
    return { ...user, disabled_at };
  });
  return presentWithCounts(changed, services);
}

export const endTokensOfUser = operation({
  method: "POST",
  path: "/_/api/applications/{appid}/users/{userId}/revoke-tokens",
  operation: "endTokensOfUser",
  summary: "End all tokens of a user, who has to log in again on every device",
  description: "The user has to log in again.",
  tag: "Operators",
  caller: "operator",
  pathParameters: OperatedUserPath,
  parameters: Type.Object({}),
  status: 200,
  result: Type.Literal(true),
  errors: ["ItemDoesNotExist"],
  async handle({ path: { appid, userId } }, { database, revocations, events }: CommandServices) {
    await database.write(async (transaction) => {
      await requireOperatedUser(appid, userId, transaction.queries);
      await revocations.endUserTokens(appid, userId, transaction);
      await events.record(appid, accountEvent("signed_out", userId), transaction.queries);
    });
    return true as const;
  },
});

export const removeUser = operation({
  method: "DELETE",
  path: "/_/api/applications/{appid}/users/{userId}",
  operation: "eraseUser",
  summary: "Delete a user with all data",
  description: "Needs the id once more in `confirm`. The data is erased in the background.",
  tag: "Operators",
  caller: "operator",
  pathParameters: OperatedUserPath,
  parameters: EraseUser,
  status: 200,
  result: Type.Literal(true),
  errors: ["ItemDoesNotExist"],
  async handle({ path: { appid, userId }, parameters: { confirm } }, services: CommandServices) {
    if (confirm !== userId)
      throw new ApiError("ParameterOutOfRange", "confirm must be the id of the user.", { parameter: "confirm" });
    const { database, clock } = services;
    await database.write(async (transaction) => {
      await lockRow(database.dialect, "users", appid, userId, transaction.queries); // of concurrent calls one succeeds
      await requireOperatedUser(appid, userId, transaction.queries);
      await updateUserDeleted(appid, userId, clock.now(), services, transaction);
    });
    await runInSteps("eraseUser", (limits) => eraseUser(appid, userId, database, limits), services);
    return true as const;
  },
});

/** The operators' views of an application's users, and the operations on them. */
export const userOperatorOperations = [searchUsers, getUser, disableUser, enableUser, endTokensOfUser, removeUser];
