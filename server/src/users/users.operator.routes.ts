import { sql } from "kysely";
import { requireApplication } from "../auth/operated-application.ts";
import { type Static, Type } from "../contract/schema.ts";
import { readSortOrder } from "../contract/search.ts";
import { lockRow } from "../db/lock.ts";
import {
  beginsWith,
  type Condition,
  condition,
  equals,
  numberOrder,
  type Order,
  textEquals,
  within,
} from "../db/search/conditions.ts";
import { rangeFilter, textPrefixFilter } from "../db/search/filters.ts";
import type { Scope } from "../db/search/scope.ts";
import { type Filter, type Search, searchPage } from "../db/search/search.ts";
import { nameRangesOf, usersByName } from "../db/search/users-by-name.ts";
import type { UserRow } from "../db/tables.ts";
import { ApiError } from "../lib/errors.ts";
import { formerUserNameKey, userNameKey } from "../lib/user-name-keys.ts";
import { operation } from "../operations/operation.ts";
import type { CommandServices } from "../operations/services.ts";
import { nameCharactersMax } from "./users.contract.ts";
import { eraseUser, updateUserDeleted } from "./users.erasure.ts";
import { accountEvent } from "./users.events.ts";
import {
  EraseUser,
  OperatedUserPage,
  OperatedUserPath,
  OperatedUsersPath,
  OperatedUserWithCounts,
  type operatedUserOrders,
  presentOperatedUser,
  SearchOperatedUsers,
} from "./users.operator.contract.ts";
import { presentWithCounts, requireOperatedUser } from "./users.operator.reading.ts";
import { runInSteps } from "./users.steps.ts";
import { updateUser } from "./users.store.ts";

const orders: Readonly<Record<(typeof operatedUserOrders)[number], Order<UserRow>>> = {
  created: numberOrder("created_at"),
  lastModified: numberOrder("modified_at"),
  // Unique within an application.
  lastLogin: numberOrder("last_login_at"),
  userName: { shape: "user_name_key", columns: [sql.ref("user_name_key")], keyOf: (row) => [row.user_name_key] },
};

/** An operator's search among all users of an application, except those being deleted. */
export function operatedUserSearch(
  applicationId: string,
  filters: Omit<Static<typeof SearchOperatedUsers>, "pageSize" | "pagingToken">,
): Search<UserRow> {
  const { userName, email, userNamePrefix, emailPrefix, identityProviderID, disabled, created, lastModified } = filters;
  const { dateOfBirth, dobRange } = filters;
  const tested: Filter<UserRow>[] = [];
  if (dateOfBirth !== undefined) tested.push(rangeFilter("date_of_birth", { start: dateOfBirth, end: dateOfBirth }));
  if (dobRange !== undefined) tested.push(rangeFilter("date_of_birth", dobRange));
  if (userNamePrefix !== undefined) tested.push(namePrefixFilter(userNamePrefix));
  if (emailPrefix !== undefined) tested.push(textPrefixFilter("email", emailPrefix));
  const conditions: Condition[] = [
    equals("application_id", applicationId),
    condition("is there", {}, () => sql`deleted_at is null`),
  ];
  if (userName !== undefined) conditions.push(hasName(userName));
  if (email !== undefined) conditions.push(textEquals("email", email));
  const fews = [
    ...(identityProviderID === undefined ? [] : [holdersOf(applicationId, identityProviderID)]),
    ...(filters.name === undefined ? [] : [namesakesOf(applicationId, filters.name)]),
  ];
  conditions.push(...fews.map(({ isOneOf }) => isOneOf));
  if (disabled !== undefined) {
    const words = disabled ? "disabled_at is not null" : "disabled_at is null";
    conditions.push(condition(words, {}, () => sql.raw(words)));
  }
  if (created !== undefined) conditions.push(...within("created_at", created));
  if (lastModified !== undefined) conditions.push(...within("modified_at", lastModified));
  const { name, isDescending } = readSortOrder<(typeof operatedUserOrders)[number]>(filters, "-created");
  return {
    scopes: [{ shape: "users all", from: sql`users`, select: sql`users.*`, ...intersectionOf(fews), conditions }],
    filters: tested,
    order: orders[name === "distance" ? "created" : name],
    isDescending,
  };
}

function namePrefixFilter(prefix: string): Filter<UserRow> {
  const key = userNameKey(prefix);
  return {
    conditions: beginsWith("user_name_key", key, nameCharactersMax),
    isIn: (row) => row.user_name_key.startsWith(key),
    index: { order: orders.userName },
  };
}

/** An identifier may exist in several external systems. The search finds at most this many holders. */
const holdersMax = 100;

/** Rows that a separate index finds, and the condition that names the statement. */
interface Few {
  readonly few: NonNullable<Scope["few"]>;
  readonly isOneOf: Condition;
}

/** The users with an identifier, in any external system. */
function holdersOf(applicationId: string, identifier: string): Few {
  const values = { identityApplication: applicationId, identifier };
  return {
    few: (parameter) => sql`
      select distinct user_id as few_id from (
        select user_id from identities
        where application_id = ${parameter("identityApplication")} and identifier = ${parameter("identifier")}
        limit ${sql.lit(holdersMax)}
      ) as identity`,
    isOneOf: isOneOfFew("has identity", values),
  };
}

const namesakesMax = 100;

/** The users whose first or last name begins with the text. */
function namesakesOf(applicationId: string, text: string): Few {
  const ranges = nameRangesOf(text);
  if (ranges.length === 0)
    return { few: () => sql`select id as few_id from users where 1 = 0`, isOneOf: isOneOfFew("has no name", {}) };
  const named = { applicationId, ranges, columns: sql`id`, count: namesakesMax };
  const { rows, values, shape } = usersByName(named);
  return {
    few: (parameter) => sql`
      select distinct id as few_id from (${rows(parameter)}) as named limit ${sql.lit(namesakesMax)}`,
    isOneOf: isOneOfFew(`has full name ${shape}`, values),
  };
}

function isOneOfFew(shape: string, values: Condition["values"]): Condition {
  return condition(shape, values, () => sql`users.id = few.few_id`);
}

function intersectionOf(fews: readonly Few[]): Pick<Scope, "few"> {
  const [first, second] = fews;
  if (first === undefined) return {};
  if (second === undefined) return { few: first.few };
  return {
    few: (parameter) => sql`
      select few_id from (${first.few(parameter)}) as one intersect select few_id from (${second.few(parameter)}) as other`,
  };
}

/** Matches up to two users, so its shape must not name an equality: see `Condition.shape`. */
function hasName(userName: string): Condition {
  return condition(
    "has name",
    { key: userNameKey(userName), former: formerUserNameKey(userName) },
    (parameter) => sql`user_name_key in (${parameter("key")}, ${parameter("former")})`,
  );
}

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

/** Disabling a disabled user again preserves the original time. */
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
      // Serializes concurrent deletions, so that one of them succeeds.
      await lockRow(database.dialect, "users", appid, userId, transaction.queries);
      await requireOperatedUser(appid, userId, transaction.queries);
      await updateUserDeleted(appid, userId, clock.now(), services, transaction);
    });
    await runInSteps("eraseUser", (limits) => eraseUser(appid, userId, database, limits), services);
    return true as const;
  },
});

/** Operators find, read, disable and delete users, and revoke their tokens. */
export const userOperatorOperations = [searchUsers, getUser, disableUser, enableUser, endTokensOfUser, removeUser];
