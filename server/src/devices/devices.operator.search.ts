import { sql } from "kysely";
import type { Static } from "../contract/schema.ts";
import { type Condition, condition, equals, numberOrder, textEquals, within } from "../db/search/conditions.ts";
import type { Scope } from "../db/search/scope.ts";
import type { Search } from "../db/search/search.ts";
import type { DeviceRow } from "../db/tables.ts";
import type { SearchOperatedDevices } from "./devices.operator.contract.ts";

/** Searches the devices of an application, for operators. */
export function operatedDeviceSearch(
  applicationId: string,
  filters: Omit<Static<typeof SearchOperatedDevices>, "include" | "pageSize" | "pagingToken">,
): Search<DeviceRow> {
  const { uniqueId, platform, tag, keyId, appVersion, userID, created, lastModified } = filters;
  const conditions: Condition[] = [equals("application_id", applicationId)];
  if (uniqueId !== undefined) conditions.push(hasUniqueId(uniqueId));
  if (platform !== undefined) conditions.push(textEquals("platform", platform));
  if (tag !== undefined) conditions.push(textEquals("tag", tag));
  if (keyId !== undefined) conditions.push(hasKey(keyId));
  if (appVersion !== undefined) conditions.push(textEquals("app_version", appVersion));
  const ofUser = userID === undefined ? undefined : devicesOf(applicationId, userID);
  conditions.push(...(ofUser?.conditions ?? []));
  if (created !== undefined) conditions.push(...within("created_at", created));
  if (lastModified !== undefined) conditions.push(...within("modified_at", lastModified));
  return {
    scopes: [{ shape: "devices all", from: sql`devices`, select: sql`devices.*`, ...ofUser, conditions }],
    order: numberOrder("created_at"),
    isDescending: filters.sortOrder !== "created",
  };
}

/** Matches one device at most. */
function hasUniqueId(uniqueId: string): Condition {
  return condition("has unique id", { uniqueId }, (parameter) => sql`unique_id = ${parameter("uniqueId")}`);
}

/** Repeats the predicate of the index. */
function hasKey(keyId: string): Condition {
  return condition("has key", { keyId }, (parameter) => sql`coalesce(key_id, '') = ${parameter("keyId")}`);
}

const tokensOfUserMax = 1_000;

/** The devices of one user, by the newest tokens. */
function devicesOf(applicationId: string, userId: string): Pick<Scope, "few" | "conditions"> {
  const values = { tokenApplication: applicationId, tokenUser: userId };
  return {
    few: (parameter) => sql`
      select distinct device_id as few_id from (
        select device_id from user_tokens
        where application_id = ${parameter("tokenApplication")} and user_id = ${parameter("tokenUser")}
        order by id desc limit ${sql.lit(tokensOfUserMax)}
      ) as token`,
    conditions: [condition("has token of", values, () => sql`devices.id = few.few_id`)],
  };
}
