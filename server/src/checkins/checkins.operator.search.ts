import { sql } from "kysely";
import { type Condition, condition, equals, numberOrder, within } from "../db/conditions.ts";
import type { Search } from "../db/search.ts";
import type { CheckinRow } from "../db/tables.ts";
import { ApiError } from "../errors.ts";
import type { Static } from "../http/schema.ts";
import { readSortOrder } from "../http/search.ts";
import { everyRow } from "../privacy/readable-rows.ts";
import { isOwnerThere } from "../privacy/visibility.ts";
import type { operatedCheckinOrders, SearchOperatedCheckins } from "./checkins.operator.contract.ts";

/**
 * Searches all check-ins of an application by their true locations, for operators.
 *
 * @throws ApiError ParameterIncorrectFormat for `distance` without a locationRange, ParameterMissingRequiredValue for a
 * locationRange without a user: true locations are indexed per user only
 */
export function operatedCheckinSearch(
  applicationId: string,
  filters: Omit<Static<typeof SearchOperatedCheckins>, "pageSize" | "pagingToken">,
): Search<CheckinRow> {
  const { userID, created, lastModified, locationRange } = filters;
  if (locationRange !== undefined && userID === undefined) {
    throw new ApiError("ParameterMissingRequiredValue", "userID is required with locationRange.");
  }
  const conditions: Condition[] = [equals("application_id", applicationId)];
  if (userID !== undefined) conditions.push(equals("user_id", userID));
  if (created !== undefined) conditions.push(...within("created_at", created));
  if (lastModified !== undefined) conditions.push(...within("modified_at", lastModified));
  conditions.push(condition("is there", {}, () => isOwnerThere("checkins")));
  const scope = { shape: "checkins all", from: sql`checkins`, select: sql`checkins.*`, cell: sql.ref("cell") };
  const { name, isDescending } = readSortOrder<(typeof operatedCheckinOrders)[number]>(filters, "-created");
  return {
    scopes: userID === undefined ? everyRow(scope, conditions) : [{ ...scope, conditions }],
    order: numberOrder("created_at"),
    isDescending,
    area: locationRange && {
      range: locationRange,
      isByDistance: name === "distance",
      locationOf: ({ lat, lng }) => ({ lat, lng }),
    },
  };
}
