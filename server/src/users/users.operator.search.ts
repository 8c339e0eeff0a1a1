import { sql } from "kysely";
import type { Static } from "../contract/schema.ts";
import { readSortOrder } from "../contract/search.ts";
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
import type { Filter, Search } from "../db/search/search.ts";
import { nameRangesOf, usersByName } from "../db/search/users-by-name.ts";
import type { UserRow } from "../db/tables.ts";
import { formerUserNameKey, userNameKey } from "../lib/user-name-keys.ts";
import { nameCharactersMax } from "./users.contract.ts";
import type { operatedUserOrders, SearchOperatedUsers } from "./users.operator.contract.ts";

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

/** An identifier has as many holders as there are systems; no more than these are found. */
const holdersMax = 100;

/** A few users who are found by an index of their own, and the condition that names the statement. */
interface Few {
  readonly few: NonNullable<Scope["few"]>;
  readonly isOneOf: Condition;
}

/** The users with an identifier, whatever the system. */
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

/** The users whose first or last name begins with the text, or both. */
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

/** Matches at most two users, so its shape is no equality: see `Condition.shape`. */
function hasName(userName: string): Condition {
  return condition(
    "has name",
    { key: userNameKey(userName), former: formerUserNameKey(userName) },
    (parameter) => sql`user_name_key in (${parameter("key")}, ${parameter("former")})`,
  );
}
