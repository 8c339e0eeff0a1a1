import { sql } from "kysely";
import {
  type Condition,
  condition,
  equals,
  numberOrder,
  type Order,
  textEquals,
  textOrder,
  within,
} from "../db/conditions.ts";
import type { Scope } from "../db/scope.ts";
import type { Search } from "../db/search.ts";
import type { UserRow } from "../db/tables.ts";
import type { Static } from "../http/schema.ts";
import { readSortOrder } from "../http/search.ts";
import { shownLocation } from "../privacy/shown-location.ts";
import { genders, type SearchUsers, type userOrders } from "./users.contract.ts";
import { userNameKey } from "./users.names.ts";

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
 * The search of a user among the users of the application (surface.md section 5): others without celebMode, by their
 * shifted points, and oneself, by the true one.
 *
 * @throws ApiError ParameterIncorrectFormat for `distance` without a locationRange
 */
export function userSearch(
  applicationId: string,
  readerId: string,
  filters: Static<typeof SearchUsers>,
): Search<UserRow> {
  const { userName, email, firstName, lastName, gender, created, lastModified, locationRange } = filters;
  const conditions: Condition[] = [equals("application_id", applicationId)];
  if (userName !== undefined) conditions.push(equals("user_name_key", userNameKey(userName)));
  if (email !== undefined) conditions.push(textEquals("email", email));
  if (firstName !== undefined) conditions.push(textEquals("first_name", firstName));
  if (lastName !== undefined) conditions.push(textEquals("last_name", lastName));
  if (gender !== undefined) conditions.push(equalsGender(gender));
  if (created !== undefined) conditions.push(...within("created_at", created));
  if (lastModified !== undefined) conditions.push(...within("modified_at", lastModified));

  const isShown = condition("is shown", {}, () => sql`celeb_mode = 0 and deleted_at is null`);
  const isOther = condition("id <>", { readerId }, (parameter) => sql`id <> ${parameter("readerId")}`);
  const { name, isDescending } = readSortOrder(filters, "-created");
  return {
    scopes: [
      users("others", [...conditions, isShown, isOther]),
      users("oneself", [...conditions, equals("id", readerId)]),
    ],
    order: orders[name === "distance" ? "created" : name],
    isDescending,
    area: locationRange && {
      table: "users",
      range: locationRange,
      isByDistance: name === "distance",
      locationOf: (row) => shownLocation(row, row.id === readerId),
    },
  };
}

/** In the words of the index; who never said is Unknown. */
function equalsGender(gender: (typeof genders)[number]): Condition {
  const index = genders.indexOf(gender);
  if (index !== 0) {
    return condition("gender =", { gender: index }, (parameter) => sql`coalesce(gender, -1) = ${parameter("gender")}`);
  }
  return condition("gender unknown", {}, () => sql`coalesce(gender, -1) <= 0`);
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
