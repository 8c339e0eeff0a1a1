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
import { type Stream, streamOf } from "../db/stream.ts";
import type { Static } from "../http/schema.ts";
import { readSortOrder } from "../http/search.ts";
import type { Page, Position } from "../lib/keyset.ts";
import {
  type itemOrders,
  keyCharactersMax,
  locationSeen,
  type ReadItem,
  type SearchItems,
} from "./metadata.contract.ts";
import type { Bag } from "./metadata.objects.ts";
import { findItems, isLocationShownSql } from "./metadata.reads.store.ts";

/**
 * An item as a search comes across it. In a bag the key is what an id is elsewhere. Where more are looked at than are shown,
 * their values, of up to 32 KiB each, are left out, and read for those of the page.
 */
type ListedItem = Omit<ReadItem, "key" | "value" | "number"> & { readonly id: string } & Partial<
    Pick<ReadItem, "key" | "value" | "number">
  >;

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
 * @returns with `itemOf` an item of the page, or undefined for one that has been deleted meanwhile
 * @throws ApiError ParameterIncorrectFormat for `distance` without a locationRange
 */
export async function searchItems(
  bag: Bag,
  readerId: string | undefined,
  filters: Static<typeof SearchItems>,
  { position, size }: { readonly position: Position; readonly size: number },
  queries: Queries,
): Promise<{ page: Page<ListedItem>; itemOf: (row: ListedItem) => ReadItem | undefined }> {
  const search = itemSearch(bag, readerId, filters);
  const gathered = await gatherNarrow(bag, readerId, filters, search, queries);
  const page =
    gathered === undefined
      ? await searchPage(search, position, size, queries)
      : await readPage(gathered, position, size);
  if (page.rows.every(isWhole)) return { page, itemOf: (row) => (isWhole(row) ? row : undefined) };
  const keys = page.rows.map(({ id }) => id);
  const items = await findItems(bag.applicationId, bag, keys, queries);
  return { page, itemOf: ({ id }) => items.get(id) };
}

function isWhole(row: ListedItem): row is ListedItem & ReadItem {
  return row.key !== undefined;
}

/** What meets a filter by key, in the order of the listing, when that order is another one and they are few. */
async function gatherNarrow(
  bag: Bag,
  readerId: string | undefined,
  filters: Static<typeof SearchItems>,
  { order, isDescending, area }: Search<ListedItem>,
  queries: Queries,
): Promise<Stream<ListedItem> | undefined> {
  const isNarrow = filters.key !== undefined || filters.keyPrefix !== undefined;
  if (!isNarrow || area !== undefined || order === orders.key) return undefined;
  const [scope] = scopesOf(bag, readerId, filters, orders.key, "without values");
  const byKey = scopeStream<ListedItem>(scope, orders.key, false, queries);
  const some = await byKey.take({ direction: "forward", count: itemsGatheredMax + 1 });
  if (some.length > itemsGatheredMax) return undefined;
  return streamOf(some, { keyOf: order.keyOf, isDescending });
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
    scopes: scopesOf(bag, readerId, filters, order, locationRange === undefined ? "whole" : "without values"),
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
  columns: keyof typeof shownColumns,
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

  if (slot !== "" || locationRange === undefined) return [items("cell", columns, conditions)];
  // Of what is shared, others see where the one who put it there lets them.
  const shown = condition("is location shown", {}, () => sql`${isLocationShownSql} <> 0`);
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

/** Whatever the listing goes by, it is one item: so not in the words that say that rows are alike in the order. */
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
    primaryKey: ["application_id", "object_id", "slot", "key"],
  };
}

const withoutValues = ["slot", "setter_id", "lat", "lng", "seen_lat", "seen_lng", "created_at", "modified_at"] as const;

const shownColumns = {
  "without values": columnsOf(withoutValues),
  whole: columnsOf([...withoutValues, "key", "value", "number"]),
};

function columnsOf(names: readonly (keyof ReadItem)[]) {
  return sql.join([
    sql`${sql.ref("metadata.key")} as id`,
    ...names.map((name) => sql.ref(`metadata.${name}`)),
    sql`${isLocationShownSql} as is_location_shown`,
  ]);
}
