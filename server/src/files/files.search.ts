import { sql } from "kysely";
import { condition, equals, numberOrder, type Order, textOrder } from "../db/conditions.ts";
import { rangeFilter, textFilter } from "../db/filters.ts";
import type { Filter, Search } from "../db/search.ts";
import type { ShownFileRow } from "../db/tables.ts";
import type { Static } from "../http/schema.ts";
import { readSortOrder } from "../http/search.ts";
import { readableRows, type SharedTable } from "../privacy/readable-rows.ts";
import { shownLocation } from "../privacy/shown-location.ts";
import type { FileOrder, fileContract } from "./files.contract.ts";
import type { FileKind, OwnField } from "./files.kinds.ts";

type Filters = Static<ReturnType<typeof fileContract>["Search"]>;

const orders = {
  created: numberOrder("created_at"),
  lastModified: numberOrder("modified_at"),
  tag: textOrder("tag"),
  title: textOrder("title"),
  friendlyName: textOrder("title"), // of blobs
  watermark: textOrder("label"),
  caption: textOrder("detail"),
  encoding: textOrder("detail"),
  bitRate: countOrder("bit_rate"),
  lengthInSeconds: countOrder("length_in_seconds"),
  thumbnailID: textOrder("thumbnail_id"),
} as const satisfies Record<FileOrder, Order<ShownFileRow>>;

/**
 * A user's search among the user's own files of a kind and shared ones (spec/files#file-operations).
 *
 * @throws ApiError ParameterIncorrectFormat for `distance` without a locationRange
 */
export function fileSearch(
  kind: FileKind,
  applicationId: string,
  readerId: string,
  filters: Filters,
): Search<ShownFileRow> {
  const { name, isDescending } = readSortOrder<FileOrder>(filters, "-created");
  const { locationRange } = filters;
  return {
    ...partsOf(kind, applicationId, readerId, filters),
    order: orderOf(kind, name === "distance" ? "created" : name),
    isDescending,
    area: locationRange && {
      range: locationRange,
      isByDistance: name === "distance",
      locationOf: (row) => shownLocation(row, row.user_id === readerId),
    },
  };
}

/** The order of a listing. A field of the same name may have another column in another kind. */
function orderOf(kind: FileKind, name: FileOrder): Order<ShownFileRow> {
  const isLabel = kind.fields.some((field) => field.name === name && field.column === "label");
  return isLabel ? textOrder("label") : orders[name];
}

function partsOf(
  kind: FileKind,
  applicationId: string,
  readerId: string,
  filters: Filters,
): Pick<Search<ShownFileRow>, "scopes" | "filters"> {
  const { userID, created, lastModified, tag } = filters;
  const given: Readonly<Record<string, unknown>> = filters;
  // A literal kind, because some indexes cover one kind only.
  const ofKind = condition(`is ${kind.idKind}`, {}, () => sql`kind = ${sql.lit(kind.idKind)}`);
  const readable = readableRows<ShownFileRow>(table, readerId, userID, [
    equals("application_id", applicationId),
    ofKind,
  ]);
  const others: Filter<ShownFileRow>[] = [];
  if (tag !== undefined) others.push(textFilter("tag", tag));
  for (const { name, column } of kind.fields) {
    const value = given[name];
    if (typeof value === "string" || typeof value === "number") others.push(fieldFilter(column, value));
  }
  if (created !== undefined) others.push(rangeFilter("created_at", created, orders.created));
  if (lastModified !== undefined) others.push(rangeFilter("modified_at", lastModified, orders.lastModified));
  return { scopes: readable.scopes, filters: [...readable.filters, ...others] };
}

type OwnColumn = OwnField["column"];

function fieldFilter(column: OwnColumn, value: string | number): Filter<ShownFileRow> {
  if (column !== "bit_rate" && column !== "length_in_seconds") return textFilter(column, `${value}`);
  return {
    conditions: [
      condition(`${column} =`, { [column]: value }, (parameter) => sql`${countSql(column)} = ${parameter(column)}`),
    ],
    isIn: (row) => row[column] === value,
    index: { order: orders.created, alikeIn: column },
  };
}

/** The order by a numeric column from 0 up: absent values first, ties by creation. */
function countOrder(column: "bit_rate" | "length_in_seconds"): Order<ShownFileRow> {
  return {
    shape: column,
    columns: [countSql(column), sql.ref("created_at"), sql.ref("id")],
    keyOf: (row) => [row[column] ?? -1, row.created_at, row.id],
  };
}

function countSql(column: OwnColumn) {
  return sql`coalesce(${sql.ref(column)}, -1)`;
}

const shownColumns = sql.join(
  (
    [
      "id",
      "user_id",
      "content_type",
      "content_length",
      "content_hash",
      "title",
      "detail",
      "label",
      "bit_rate",
      "length_in_seconds",
      "thumbnail_id",
      "width",
      "height",
      "tag",
      "lat",
      "lng",
      "seen_lat",
      "seen_lng",
      "read_permission",
      "write_permission",
      "created_at",
      "modified_at",
    ] satisfies (keyof ShownFileRow)[]
  ).map((column) => sql.ref(column)),
);

const table: SharedTable = { name: "files", select: shownColumns };
