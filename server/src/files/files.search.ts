import { sql } from "kysely";
import {
  type Condition,
  condition,
  equals,
  numberOrder,
  type Order,
  textEquals,
  textOrder,
  within,
} from "../db/conditions.ts";
import type { Search } from "../db/search.ts";
import type { ShownFileRow } from "../db/tables.ts";
import type { Static } from "../http/schema.ts";
import { readSortOrder } from "../http/search.ts";
import { readableRows, type SharedTable } from "../privacy/readable-rows.ts";
import { shownLocation } from "../privacy/shown-location.ts";
import type { FileOrder, fileContract } from "./files.contract.ts";
import type { FileKind, OwnField } from "./files.kinds.ts";
import { isShownToOthersSql } from "./files.store.ts";

type Filters = Static<ReturnType<typeof fileContract>["Search"]>;

const orders = {
  created: numberOrder("created_at"),
  lastModified: numberOrder("modified_at"),
  tag: textOrder("tag"),
  title: textOrder("title"),
  friendlyName: textOrder("title"),
  caption: textOrder("detail"),
  encoding: textOrder("detail"),
  bitRate: countOrder("bit_rate"),
  lengthInSeconds: countOrder("length_in_seconds"),
  thumbnailID: textOrder("thumbnail_id"),
} as const satisfies Record<FileOrder, Order<ShownFileRow>>;

/**
 * The search of a user among the own files of a kind and those that others share (surface.md sections 3 and 10).
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
    scopes: scopesOf(kind, applicationId, readerId, filters),
    order: orders[name === "distance" ? "created" : name],
    isDescending,
    area: locationRange && {
      table: "files",
      range: locationRange,
      isByDistance: name === "distance",
      locationOf: (row) => shownLocation(row, row.user_id === readerId),
    },
  };
}

function scopesOf(
  kind: FileKind,
  applicationId: string,
  readerId: string,
  filters: Filters,
): Search<ShownFileRow>["scopes"] {
  const { userID, created, lastModified, tag } = filters;
  const given: Readonly<Record<string, unknown>> = filters;
  // The kind is written out: some indexes hold one kind alone.
  const ofKind = condition(`is ${kind.idKind}`, {}, () => sql`kind = ${sql.lit(kind.idKind)}`);
  const conditions: Condition[] = [equals("application_id", applicationId), ofKind];
  if (tag !== undefined) conditions.push(textEquals("tag", tag));
  for (const { name, column } of kind.fields) {
    const value = given[name];
    if (typeof value === "string" || typeof value === "number")
      conditions.push(fieldEquals(name, column, value, filters));
  }
  if (created !== undefined) conditions.push(...within("created_at", created));
  if (lastModified !== undefined) conditions.push(...within("modified_at", lastModified));

  return readableRows(table, readerId, userID, conditions);
}

type OwnColumn = OwnField["column"];

function fieldEquals(name: string, column: OwnColumn, value: string | number, filters: Filters): Condition {
  if (column === "title" || column === "detail") return textEquals(column, `${value}`);
  // Of what only partial indexes have, PostgreSQL has no statistics in their words: it takes every value for a rare one,
  // and would sort all that has it. So their words are used where they have the order of the listing as well.
  const { name: order } = readSortOrder<FileOrder>(filters, "-created");
  const isWalked = filters.locationRange === undefined && (order === "created" || order === name);
  if (isWalked) return typeof value === "string" ? textEquals(column, value) : countEquals(column, value);
  return condition(`${column} is`, { [column]: value }, (parameter) => sql`${sql.ref(column)} = ${parameter(column)}`);
}

function countEquals(column: OwnColumn, count: number): Condition {
  return condition(`${column} =`, { [column]: count }, (parameter) => sql`${countSql(column)} = ${parameter(column)}`);
}

/** The order of a column of numbers from 0 on, absent ones first, rows alike in it by their creation. */
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

const table: SharedTable = { name: "files", select: shownColumns, isShownToOthers: isShownToOthersSql };
