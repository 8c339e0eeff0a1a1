import { sql } from "kysely";
import type { Static } from "../contract/schema.ts";
import { readSortOrder } from "../contract/search.ts";
import { resolveUserId } from "../contract/wire.ts";
import { type Condition, condition, equals, numberOrder, type Order, textOrder } from "../db/search/conditions.ts";
import { rangeFilter, textFilter } from "../db/search/filters.ts";
import type { Scope } from "../db/search/scope.ts";
import { type Filter, type Search, searchPage } from "../db/search/search.ts";
import type { UserRow } from "../db/tables.ts";
import { ApiError } from "../lib/errors.ts";
import { formerUserNameKey, userNameKey } from "../lib/user-name-keys.ts";
import { operation } from "../operations/operation.ts";
import { shownLocation } from "../privacy/visibility.ts";
import {
  genders,
  OwnUser,
  presentOwnUser,
  presentUser,
  SearchUsers,
  ShownUser,
  UserPage,
  UserPath,
  type userOrders,
} from "./users.contract.ts";
import { findProfile, findShownUser } from "./users.store.ts";

const orders: Readonly<Record<(typeof userOrders)[number], Order<UserRow>>> = {
  created: numberOrder("created_at"),
  lastModified: numberOrder("modified_at"),
  userName: {
    shape: "user_name_key",
    columns: [sql.ref("user_name_key"), sql.ref("created_at"), sql.ref("id")],
    keyOf: (row) => [row.user_name_key, row.created_at, row.id],
  },
  firstName: textOrder("first_name"),
  lastName: textOrder("last_name"),
  gender: {
    shape: "gender",
    columns: [sql`coalesce(gender, -1)`, sql.ref("created_at"), sql.ref("id")],
    keyOf: (row) => [row.gender ?? -1, row.created_at, row.id],
  },
};

/**
 * Searches the users of the application (spec/users#search-users): other users without celebMode by fuzzed location,
 * and the caller by true location.
 *
 * @throws ApiError ParameterIncorrectFormat for `distance` without a locationRange
 */
export function userSearch(
  applicationId: string,
  readerId: string,
  given: Static<typeof SearchUsers>,
): Search<UserRow> {
  const { userName, email, firstName, lastName, gender, dateOfBirth, dobRange, created, lastModified, locationRange } =
    given;
  const filters: Filter<UserRow>[] = [];
  if (userName !== undefined) filters.push(nameFilter(userName));
  if (email !== undefined) filters.push(textFilter("email", email));
  if (firstName !== undefined) filters.push(textFilter("first_name", firstName));
  if (lastName !== undefined) filters.push(textFilter("last_name", lastName));
  if (gender !== undefined) filters.push(genderFilter(gender));
  if (dateOfBirth !== undefined) filters.push(rangeFilter("date_of_birth", { start: dateOfBirth, end: dateOfBirth }));
  if (dobRange !== undefined) filters.push(rangeFilter("date_of_birth", dobRange));
  if (created !== undefined) filters.push(rangeFilter("created_at", created, orders.created));
  if (lastModified !== undefined) filters.push(rangeFilter("modified_at", lastModified, orders.lastModified));

  const ofApplication = equals("application_id", applicationId);
  const isShown = condition("is shown", {}, () => sql`celeb_mode = 0 and deleted_at is null`);
  const isOther = condition("id <>", { readerId }, (parameter) => sql`id <> ${parameter("readerId")}`);
  const ownScope = users("oneself", [ofApplication, equals("id", readerId)]);
  const { name, isDescending } = readSortOrder(given, "-created");
  return {
    // The date of birth is private, so searches by it match only the caller.
    scopes:
      dateOfBirth !== undefined || dobRange !== undefined
        ? [ownScope]
        : [users("others", [ofApplication, isShown, isOther]), ownScope],
    filters,
    order: orders[name === "distance" ? "created" : name],
    isDescending,
    area: locationRange && {
      range: locationRange,
      isByDistance: name === "distance",
      locationOf: (row) => shownLocation(row, row.id === readerId),
    },
  };
}

/** Repeats the expression of the index. A user without a gender counts as Unknown. */
function genderFilter(gender: (typeof genders)[number]): Filter<UserRow> {
  const index = genders.indexOf(gender);
  if (index === 0) {
    return {
      conditions: [condition("gender unknown", {}, () => sql`coalesce(gender, -1) <= 0`)],
      isIn: (row) => (row.gender ?? -1) <= 0,
      index: { order: orders.gender },
    };
  }
  const isGender = condition("gender =", { gender: index }, (parameter) => {
    return sql`coalesce(gender, -1) = ${parameter("gender")}`;
  });
  return {
    conditions: [isGender],
    isIn: (row) => row.gender === index,
    index: { order: orders.created, alikeIn: "gender" },
  };
}

function users(scope: "others" | "oneself", conditions: readonly Condition[]): Scope {
  return {
    shape: `users ${scope}`,
    from: sql`users`,
    select: sql`users.*`,
    cell: scope === "oneself" ? sql`cell` : sql`seen_cell`,
    conditions,
  };
}

/**
 * Also matches names stored by releases that distinguished names by blanks and invisible characters: see
 * `formerUserNameKey`.
 */
function nameFilter(userName: string): Filter<UserRow> {
  const [key, former] = [userNameKey(userName), formerUserNameKey(userName)];
  const isOneOfTwo = condition(
    "has one of two names",
    { key, former },
    (parameter) => sql`user_name_key in (${parameter("key")}, ${parameter("former")})`,
  );
  return {
    conditions: [key === former ? equals("user_name_key", key) : isOneOfTwo],
    isIn: (row) => row.user_name_key === key || row.user_name_key === former,
    index: { order: orders.created, alikeIn: "user_name_key" },
  };
}

const getOwnUser = operation({
  method: "GET",
  path: "/users/me",
  operation: "getOwnUser",
  summary: "Read one's own profile",
  description: "Answers with all fields, also those that others do not see.",
  tag: "Users",
  caller: "user",
  status: 200,
  result: OwnUser,
  errors: [],
  async handle({ caller }, { database, pictureUrl }) {
    const user = await findProfile(caller.applicationId, caller.userId, database.reads);
    if (user === undefined) throw new ApiError("AuthAccessTokenInvalid"); // deleted after the token check
    return presentOwnUser(user, pictureUrl);
  },
});

const getUser = operation({
  method: "GET",
  path: "/users/{userId}",
  operation: "getUser",
  summary: "Read a user's profile; users see all fields of their own",
  description: "Others see the name, the shared profile picture and the date of creation.",
  tag: "Users",
  caller: "user",
  pathParameters: UserPath,
  status: 200,
  result: ShownUser,
  errors: ["OperationNotFound", "ItemDoesNotExist"],
  async handle({ caller: { applicationId, userId }, path }, { database, pictureUrl }) {
    const user = await findShownUser(applicationId, userId, resolveUserId(path.userId, userId), database.reads);
    if (user === undefined) throw new ApiError("ItemDoesNotExist");
    return presentUser(user, userId, pictureUrl);
  },
});

const searchUsers = operation({
  method: "GET",
  path: "/users",
  operation: "searchUsers",
  summary: "Search the users of the application",
  description:
    "Finds users by the fields that they show to others. Only users themselves find their account with celebMode.",
  tag: "Users",
  caller: "user",
  parameters: SearchUsers,
  status: 200,
  result: UserPage,
  errors: [],
  async handle({ caller, parameters, call }, { database, paging, pictureUrl }) {
    const request = await paging.read("users", caller, parameters, call);
    const search = userSearch(caller.applicationId, caller.userId, request.filters);
    const page = await searchPage(search, request.position, request.size, database.reads, call.work);
    return paging.present("users", caller, request, page, (row) => presentUser(row, caller.userId, pictureUrl));
  },
});

/** Reading and searching profiles (spec/users#profiles). */
export const userOperations = [getOwnUser, getUser, searchUsers];
