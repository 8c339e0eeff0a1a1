import { sql } from "kysely";
import { equals, numberOrder, type Order, textOrder } from "../db/conditions.ts";
import { rangeFilter, textFilter } from "../db/filters.ts";
import type { Filter, Search } from "../db/search.ts";
import type { ShownCheckinRow } from "../db/tables.ts";
import type { Static } from "../http/schema.ts";
import { readSortOrder } from "../http/search.ts";
import { readableRows, type SharedTable } from "../privacy/readable-rows.ts";
import { shownLocation } from "../privacy/shown-location.ts";
import type { checkinOrders, SearchCheckins } from "./checkins.contract.ts";

const orders: Readonly<Record<(typeof checkinOrders)[number], Order<ShownCheckinRow>>> = {
  created: numberOrder("created_at"),
  lastModified: numberOrder("modified_at"),
  comment: textOrder("comment"),
  description: textOrder("description"),
  tag: textOrder("tag"),
};

/**
 * Searches a user's own check-ins and those that others share (spec/search#search-scope).
 *
 * @throws ApiError ParameterIncorrectFormat for `distance` without a locationRange
 */
export function checkinSearch(
  applicationId: string,
  readerId: string,
  filters: Static<typeof SearchCheckins>,
): Search<ShownCheckinRow> {
  const { name, isDescending } = readSortOrder(filters, "-created");
  const { locationRange } = filters;
  return {
    ...partsOf(applicationId, readerId, filters),
    order: orders[name === "distance" ? "created" : name],
    isDescending,
    area: locationRange && {
      range: locationRange,
      isByDistance: name === "distance",
      locationOf: (row) => shownLocation(row, row.user_id === readerId),
    },
  };
}

function partsOf(
  applicationId: string,
  readerId: string,
  given: Static<typeof SearchCheckins>,
): Pick<Search<ShownCheckinRow>, "scopes" | "filters"> {
  const { userID, created, lastModified, tag, comment, description } = given;
  const { scopes, filters } = readableRows<ShownCheckinRow>(table, readerId, userID, [
    equals("application_id", applicationId),
  ]);
  const others: Filter<ShownCheckinRow>[] = [];
  if (tag !== undefined) others.push(textFilter("tag", tag));
  if (comment !== undefined) others.push(textFilter("comment", comment));
  if (description !== undefined) others.push(textFilter("description", description));
  if (created !== undefined) others.push(rangeFilter("created_at", created, orders.created));
  if (lastModified !== undefined) others.push(rangeFilter("modified_at", lastModified, orders.lastModified));
  return { scopes, filters: [...filters, ...others] };
}

const shownColumns = sql.join(
  (
    [
      "id",
      "user_id",
      "lat",
      "lng",
      "seen_lat",
      "seen_lng",
      "comment",
      "description",
      "tag",
      "read_permission",
      "write_permission",
      "created_at",
      "modified_at",
    ] satisfies (keyof ShownCheckinRow)[]
  ).map((column) => sql.ref(column)),
);

const table: SharedTable = { name: "checkins", select: shownColumns };
