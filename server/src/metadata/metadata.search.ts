import { sql } from "kysely";
import {
  beginsWith,
  type Condition,
  condition,
  equals,
  numberOrderBy,
  type Order,
  tieOrder,
  within,
} from "../db/conditions.ts";
import type { Queries } from "../db/database.ts";
import { readPage } from "../db/page.ts";
import { type Scope, scopeStream } from "../db/scope.ts";
import { type Search, searchPage } from "../db/search.ts";
import { streamOf } from "../db/stream.ts";
import type { MetadataRow } from "../db/tables.ts";
import type { Static } from "../http/schema.ts";
import { readSortOrder } from "../http/search.ts";
import type { Page, Position } from "../lib/keyset.ts";
import { type itemOrders, keyCharactersMax, locationSeen, type SearchItems } from "./metadata.contract.ts";
import type { Bag } from "./metadata.objects.ts";
import { isLocationShownSql } from "./metadata.store.ts";

/**
 * An item without its value, which is read for those of the page alone: a search in an area looks at thousands of rows, and
 * each may have 32 KiB. In a bag the key is what an id is elsewhere.
 */
export type ListedItem = Pick<
  MetadataRow,
  "slot" | "setter_id" | "lat" | "lng" | "seen_lat" | "seen_lng" | "created_at" | "modified_at"
> & {
  readonly id: string;
  readonly is_location_shown: number;
};

const orders: Readonly<Record<(typeof itemOrders)[number], Order<ListedItem>>> = {
  created: numberOrderBy("created_at", "key"),
  lastModified: numberOrderBy("modified_at", "key"),
  key: tieOrder("key"),
};

/** With a prefix, up to so many items are gathered and put in order; more are walked over in the order of the listing. */
const itemsGatheredMax = 1_000;

/**
 * A page of the items of a bag (surface.md sections 3 and 8).
 *
 * @throws ApiError ParameterIncorrectFormat for `distance` without a locationRange
 */
export async function searchItems(
  bag: Bag,
  readerId: string | undefined,
  filters: Static<typeof SearchItems>,
  { position, size }: { readonly position: Position; readonly size: number },
  queries: Queries,
): Promise<Page<ListedItem>> {
  const search = itemSearch(bag, readerId, filters);
  const { order, isDescending, area } = search;
  const isNarrow = filters.key !== undefined || filters.keyPrefix !== undefined;
  if (isNarrow && area === undefined && order !== orders.key) {
    const byKey = scopeStream(scopesOf(bag, readerId, filters, orders.key)[0], orders.key, false, queries);
    const some = await byKey.take({ direction: "forward", count: itemsGatheredMax + 1 });
    if (some.length <= itemsGatheredMax) {
      return readPage(streamOf(some, { keyOf: order.keyOf, isDescending }), position, size);
    }
  }
  return searchPage(search, position, size, queries);
}

export function itemSearch(
  bag: Bag,
  readerId: string | undefined,
  filters: Static<typeof SearchItems>,
): Search<ListedItem> {
  const { name, isDescending } = readSortOrder(filters, "-created");
  const { locationRange } = filters;
  const order = orders[name === "distance" ? "created" : name];
  return {
    scopes: scopesOf(bag, readerId, filters, order),
    order,
    isDescending,
    area: locationRange && {
      table: "metadata",
      range: locationRange,
      isByDistance: name === "distance",
      locationOf: (row) => locationSeen(row, readerId),
    },
  };
}

function scopesOf(
  { applicationId, objectId, slot }: Bag,
  readerId: string | undefined,
  { key, keyPrefix, created, lastModified, locationRange }: Static<typeof SearchItems>,
  order: Order<ListedItem>,
): Search<ListedItem>["scopes"] {
  const conditions: Condition[] = [
    equals("application_id", applicationId),
    equals("object_id", objectId),
    equals("slot", slot),
  ];
  // In the words of the indexes that have these orders.
  if (order !== orders.key) conditions.push(condition("is listed", {}, () => sql`length(${sql.ref("key")}) > 0`));
  if (keyPrefix !== undefined) conditions.push(...beginsWith("key", keyPrefix, keyCharactersMax));
  if (key !== undefined) conditions.push(isKey(key));
  if (created !== undefined) conditions.push(...within("created_at", created));
  if (lastModified !== undefined) conditions.push(...within("modified_at", lastModified));

  if (slot !== "" || locationRange === undefined) return [items("cell", conditions)];
  // Of what is shared, others see where the one who put it there lets them.
  const shown = condition("is location shown", {}, () => sql`${isLocationShownSql} <> 0`);
  if (readerId === undefined) return [items("seen_cell", [...conditions, shown])];
  const bySelf = equals("setter_id", readerId);
  const byOthers = condition("setter_id <>", { others: readerId }, (parameter) => {
    return sql`coalesce(setter_id, '') <> ${parameter("others")}`;
  });
  return [items("cell", [...conditions, bySelf]), items("seen_cell", [...conditions, byOthers, shown])];
}

/** Whatever the listing goes by, it is one item: so not in the words that say that rows are alike in the order. */
function isKey(key: string): Condition {
  return condition("is key", { "is key": key }, (parameter) => sql`${sql.ref("key")} = ${parameter("is key")}`);
}

function items(cell: "cell" | "seen_cell", conditions: readonly Condition[]): Scope {
  return {
    shape: `metadata ${cell}`,
    from: sql`metadata`,
    select: shownColumns,
    cell: sql.ref(cell),
    conditions,
    primaryKey: ["application_id", "object_id", "slot", "key"],
  };
}

const shownColumns = sql.join([
  sql`${sql.ref("metadata.key")} as id`,
  ...(
    [
      "slot",
      "setter_id",
      "lat",
      "lng",
      "seen_lat",
      "seen_lng",
      "created_at",
      "modified_at",
    ] satisfies (keyof ListedItem)[]
  ).map((column) => sql.ref(`metadata.${column}`)),
  sql`${isLocationShownSql} as is_location_shown`,
]);
