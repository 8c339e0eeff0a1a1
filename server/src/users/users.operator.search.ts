import { sql } from "kysely";
import { type Condition, condition, equals, numberOrder, type Order, textEquals, within } from "../db/conditions.ts";
import type { Search } from "../db/search.ts";
import type { UserRow } from "../db/tables.ts";
import type { Static } from "../http/schema.ts";
import { readSortOrder } from "../http/search.ts";
import { userNameKey } from "./users.names.ts";
import type { operatedUserOrders, SearchOperatedUsers } from "./users.operator.contract.ts";

const orders: Readonly<Record<(typeof operatedUserOrders)[number], Order<UserRow>>> = {
  created: numberOrder("created_at"),
  lastModified: numberOrder("modified_at"),
  // Unique in an application by itself.
  userName: { shape: "user_name_key", columns: [sql.ref("user_name_key")], keyOf: (row) => [row.user_name_key] },
};

/** The search of an operator among all users of an application, but for those who are being deleted. */
export function operatedUserSearch(
  applicationId: string,
  filters: Omit<Static<typeof SearchOperatedUsers>, "pageSize" | "pagingToken">,
): Search<UserRow> {
  const { userName, email, disabled, created, lastModified } = filters;
  const conditions: Condition[] = [
    equals("application_id", applicationId),
    condition("is there", {}, () => sql`deleted_at is null`),
  ];
  if (userName !== undefined) conditions.push(hasName(userNameKey(userName)));
  if (email !== undefined) conditions.push(textEquals("email", email));
  if (disabled !== undefined) {
    const words = disabled ? "disabled_at is not null" : "disabled_at is null";
    conditions.push(condition(words, {}, () => sql.raw(words)));
  }
  if (created !== undefined) conditions.push(...within("created_at", created));
  if (lastModified !== undefined) conditions.push(...within("modified_at", lastModified));
  const { name, isDescending } = readSortOrder<(typeof operatedUserOrders)[number]>(filters, "-created");
  return {
    scopes: [{ shape: "users all", from: sql`users`, select: sql`users.*`, conditions }],
    order: orders[name === "distance" ? "created" : name],
    isDescending,
  };
}

/** It is one user at most, whatever the listing goes by: so not in the words that say that rows are alike in the order. */
function hasName(key: string): Condition {
  return condition("has name", { "has name": key }, (parameter) => sql`user_name_key = ${parameter("has name")}`);
}
