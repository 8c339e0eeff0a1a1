import { sql } from "kysely";
import { type Condition, equals, numberOrder, type Order, textEquals, textOrder, within } from "../db/conditions.ts";
import type { Search } from "../db/search.ts";
import type { ShownCheckinRow } from "../db/tables.ts";
import type { Static } from "../http/schema.ts";
import { readSortOrder } from "../http/search.ts";
import { readableRows, type SharedTable } from "../privacy/readable-rows.ts";
import { shownLocation } from "../privacy/shown-location.ts";
import type { checkinOrders, SearchCheckins } from "./checkins.contract.ts";
import { isShownToOthersSql } from "./checkins.store.ts";

const orders: Readonly<Record<(typeof checkinOrders)[number], Order<ShownCheckinRow>>> = {
  created: numberOrder("created_at"),
  lastModified: numberOrder("modified_at"),
  comment: textOrder("comment"),
  description: textOrder("description"),
  tag: textOrder("tag"),
};

/**
 * The search of a user among the own check-ins and those that others share (surface.md sections 3 and 7).
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
    scopes: scopesOf(applicationId, readerId, filters),
    order: orders[name === "distance" ? "created" : name],
    isDescending,
    area: locationRange && {
      table: "checkins",
      range: locationRange,
      isByDistance: name === "distance",
      locationOf: (row) => shownLocation(row, row.user_id === readerId),
    },
  };
}

function scopesOf(
  applicationId: string,
  readerId: string,
  filters: Static<typeof SearchCheckins>,
): Search<ShownCheckinRow>["scopes"] {
  const { userID, created, lastModified, tag, comment, description } = filters;
  const conditions: Condition[] = [equals("application_id", applicationId)];
  if (tag !== undefined) conditions.push(textEquals("tag", tag));
  if (comment !== undefined) conditions.push(textEquals("comment", comment));
  if (description !== undefined) conditions.push(textEquals("description", description));
  if (created !== undefined) conditions.push(...within("created_at", created));
  if (lastModified !== undefined) conditions.push(...within("modified_at", lastModified));

  return readableRows(table, readerId, userID, conditions);
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

const table: SharedTable = { name: "checkins", select: shownColumns, isShownToOthers: isShownToOthersSql };
