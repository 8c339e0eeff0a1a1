import { sql } from "kysely";
import { type Condition, condition, equals, numberOrder, type Order, textEquals, within } from "../db/conditions.ts";
import type { Search } from "../db/search.ts";
import type { DeviceRow } from "../db/tables.ts";
import type { Static } from "../http/schema.ts";
import { readSortOrder } from "../http/search.ts";
import type { operatedDeviceOrders, SearchOperatedDevices } from "./devices.operator.contract.ts";

type OrderName = (typeof operatedDeviceOrders)[number];

const orders: Readonly<Record<OrderName, Order<DeviceRow>>> = {
  created: numberOrder("created_at"),
  lastModified: numberOrder("modified_at"),
};

/** The search of an operator among the devices of an application. */
export function operatedDeviceSearch(
  applicationId: string,
  filters: Omit<Static<typeof SearchOperatedDevices>, "pageSize" | "pagingToken">,
): Search<DeviceRow> {
  const { uniqueId, platform, tag, keyId, created, lastModified } = filters;
  const conditions: Condition[] = [equals("application_id", applicationId)];
  if (uniqueId !== undefined) conditions.push(hasUniqueId(uniqueId));
  if (platform !== undefined) conditions.push(textEquals("platform", platform));
  if (tag !== undefined) conditions.push(textEquals("tag", tag));
  if (keyId !== undefined) conditions.push(hasKey(keyId));
  if (created !== undefined) conditions.push(...within("created_at", created));
  if (lastModified !== undefined) conditions.push(...within("modified_at", lastModified));
  const { name, isDescending } = readSortOrder<OrderName>(filters, "-created");
  return {
    scopes: [{ shape: "devices all", from: sql`devices`, select: sql`devices.*`, conditions }],
    order: orders[name === "distance" ? "created" : name],
    isDescending,
  };
}

/** It is one device at most. */
function hasUniqueId(uniqueId: string): Condition {
  return condition("has unique id", { uniqueId }, (parameter) => sql`unique_id = ${parameter("uniqueId")}`);
}

/** In the words of the index. */
function hasKey(keyId: string): Condition {
  return condition("has key", { keyId }, (parameter) => sql`coalesce(key_id, '') = ${parameter("keyId")}`);
}
