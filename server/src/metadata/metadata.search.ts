import { sql } from "kysely";
import type { Static } from "../contract/schema.ts";
import { readSortOrder } from "../contract/search.ts";
import type { Queries } from "../db/database.ts";
import {
  beginsWith,
  type Condition,
  condition,
  equals,
  numberOrderBy,
  type Order,
  type Parameter,
  tieOrder,
} from "../db/search/conditions.ts";
import { rangeFilter } from "../db/search/filters.ts";
import type { Scope } from "../db/search/scope.ts";
import { type Filter, type Search, searchPage } from "../db/search/search.ts";
import type { CallWork } from "../lib/call-work.ts";
import type { Page, Position } from "../lib/keyset.ts";
import {
  type itemOrders,
  keyCharactersMax,
  locationSeen,
  type ReadItem,
  type SearchItems,
} from "./metadata.contract.ts";
import type { Bag } from "./metadata.objects.ts";
import { findItems, isLocationShown } from "./metadata.reads.store.ts";

/**
 * An item as a search reads it. The key serves as the id. A search that examines more rows than it returns reads
 * values, of up to 32 KiB each, only for the rows of the page.
 */
type ListedItem = Omit<ReadItem, "key" | "value" | "number"> & { readonly id: string } & Partial<
    Pick<ReadItem, "key" | "value" | "number">
  > & { readonly value_start?: string | null };

const isListed = condition("is listed", {}, () => sql`length(${sql.ref("key")}) > 0`);

const orders: Readonly<Record<(typeof itemOrders)[number], Order<ListedItem>>> = {
  created: { ...numberOrderBy("created_at", "key"), conditions: [isListed] },
  lastModified: { ...numberOrderBy("modified_at", "key"), conditions: [isListed] },
  key: tieOrder("key"),
};

/**
 * Returns a page of the items of a bag (spec/metadata#search-metadata).
 *
 * @returns with `itemOf` an item of the page, or undefined for one that a concurrent request deleted
 * @throws ApiError ParameterIncorrectFormat for `distance` without a locationRange; Abandoned
 */
export async function searchItems(
  bag: Bag,
  readerId: string | undefined,
  filters: Static<typeof SearchItems>,
  { position, size }: { readonly position: Position; readonly size: number },
  queries: Queries,
  work?: CallWork,
): Promise<{ page: Page<ListedItem>; itemOf: (row: ListedItem) => ReadItem | undefined }> {
  const page = await searchPage(itemSearch(bag, readerId, filters), position, size, queries, work);
  if (page.rows.every(isWhole)) return { page, itemOf: (row) => (isWhole(row) ? row : undefined) };
  const keys = page.rows.map(({ id }) => id);
  const items = await findItems(bag.applicationId, bag, keys, queries);
  return { page, itemOf: ({ id }) => items.get(id) };
}

function isWhole(row: ListedItem): row is ListedItem & ReadItem {
  return row.key !== undefined;
}

export function itemSearch(
  bag: Bag,
  readerId: string | undefined,
  given: Static<typeof SearchItems>,
): Search<ListedItem> {
  const { name, isDescending } = readSortOrder(given, "-created");
  const { locationRange } = given;
  const order = orders[name === "distance" ? "created" : name];
  const filters = filtersOf(given);
  // A filter that the index of the order does not cover may examine rows that it omits.
  const isWalked = locationRange === undefined && filters.every(({ index }) => index?.order === order);
  return {
    scopes: scopesOf(
      bag,
      readerId,
      given,
      isWalked ? "whole" : given.value === undefined ? "without values" : "compared",
    ),
    filters,
    order,
    isDescending,
    area: locationRange && {
      range: locationRange,
      isByDistance: name === "distance",
      locationOf: (row) => locationSeen(row, readerId),
    },
  };
}

function filtersOf({ key, keyPrefix, value, created, lastModified }: Static<typeof SearchItems>): Filter<ListedItem>[] {
  const filters: Filter<ListedItem>[] = [];
  if (key !== undefined) filters.push({ ...byKey(isKey(key)), isIn: ({ id }) => id === key });
  if (keyPrefix !== undefined) {
    filters.push({
      ...byKey(...beginsWith("key", keyPrefix, keyCharactersMax)),
      isIn: ({ id }) => id.startsWith(keyPrefix),
    });
  }
  if (value !== undefined) filters.push({ conditions: [], isIn: hasValue(value) });
  if (created !== undefined) filters.push(rangeFilter("created_at", created, orders.created));
  if (lastModified !== undefined) filters.push(rangeFilter("modified_at", lastModified, orders.lastModified));
  return filters;
}

/** Whether the value of an item is this string, or the number or boolean that the string denotes. */
function hasValue(text: string): (item: ListedItem) => boolean {
  const asText = JSON.stringify(text);
  const number = /^-?\d/.test(text) ? Number(text) : Number.NaN;
  const isBoolean = text === "true" || text === "false";
  return ({ value_start: start = null, number: found = null }) => {
    if (found !== null && start === null) return found === number;
    if (found !== null) return start === text || (found === number && Number.isSafeInteger(number));
    return start === asText || (isBoolean && start === text);
  };
}

function byKey(...conditions: readonly Condition[]): Pick<Filter<ListedItem>, "conditions" | "index"> {
  return { conditions, index: { order: orders.key } };
}

function scopesOf(
  { applicationId, objectId, slot }: Bag,
  readerId: string | undefined,
  { locationRange }: Static<typeof SearchItems>,
  columns: keyof typeof shownColumns,
): Search<ListedItem>["scopes"] {
  const conditions: Condition[] = [
    equals("application_id", applicationId),
    equals("object_id", objectId),
    equals("slot", slot),
  ];
  if (slot !== "" || locationRange === undefined) return [items("cell", columns, conditions)];
  // In the shared slot, other users see an item at the location that its setter lets them see.
  const shown = condition("is location shown", {}, (parameter) => {
    return sql`${isLocationShown(parameter("application_id"))} <> 0`;
  });
  if (readerId === undefined) return [items("seen_cell", columns, [...conditions, shown])];
  const bySelf = equals("setter_id", readerId);
  const byOthers = condition("setter_id <>", { others: readerId }, (parameter) => {
    return sql`coalesce(setter_id, '') <> ${parameter("others")}`;
  });
  return [
    items("cell", columns, [...conditions, bySelf]),
    items("seen_cell", columns, [...conditions, byOthers, shown]),
  ];
}

/** Not `equals`, after which a listing by key would continue by creation time; at most one item matches here. */
function isKey(key: string): Condition {
  return condition("is key", { "is key": key }, (parameter) => sql`${sql.ref("key")} = ${parameter("is key")}`);
}

function items(
  cell: "cell" | "seen_cell",
  columns: keyof typeof shownColumns,
  conditions: readonly Condition[],
): Scope {
  return {
    shape: `metadata ${cell} ${columns}`,
    from: sql`metadata`,
    select: shownColumns[columns],
    cell: sql.ref(cell),
    conditions,
    tie: "key",
  };
}

/** Values are compared up to the JSON length of the longest search text. */
const comparedCharacters = 2_000;

const withoutValues = ["slot", "setter_id", "lat", "lng", "seen_lat", "seen_lng", "created_at", "modified_at"] as const;

const shownColumns = {
  "without values": columnsOf(withoutValues),
  compared: (parameter: Parameter) =>
    sql.join([
      columnsOf([...withoutValues, "number"])(parameter),
      sql`substr(metadata.value, 1, ${sql.lit(comparedCharacters)}) as value_start`,
    ]),
  whole: columnsOf([...withoutValues, "key", "value", "number"]),
};

function columnsOf(names: readonly (keyof ReadItem)[]) {
  return (parameter: Parameter) =>
    sql.join([
      sql`${sql.ref("metadata.key")} as id`,
      ...names.map((name) => sql.ref(`metadata.${name}`)),
      sql`${isLocationShown(parameter("application_id"))} as is_location_shown`,
    ]);
}
