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
import type { Scope } from "../db/scope.ts";
import type { Search } from "../db/search.ts";
import type { ShownFileRow } from "../db/tables.ts";
import type { Static } from "../http/schema.ts";
import { readSortOrder } from "../http/search.ts";
import { resolveUserId } from "../http/wire.ts";
import { shownLocation } from "../privacy/shown-location.ts";
import type { FileOrder, fileContract } from "./files.contract.ts";
import type { FileKind } from "./files.kinds.ts";
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
  const conditions: Condition[] = [equals("application_id", applicationId), equals("kind", kind.idKind)];
  if (tag !== undefined) conditions.push(textEquals("tag", tag));
  for (const { name, column, isSearched } of kind.fields) {
    const text = given[name];
    if (isSearched && typeof text === "string") conditions.push(textEquals(column, text));
  }
  if (created !== undefined) conditions.push(...within("created_at", created));
  if (lastModified !== undefined) conditions.push(...within("modified_at", lastModified));

  const own = files("own", [...conditions, equals("user_id", readerId)]);
  if (userID === undefined) return [own, shared([...conditions, isOfOthers(readerId)])];
  const ownerId = resolveUserId(userID, readerId);
  return ownerId === readerId ? [own] : [shared([...conditions, equals("user_id", ownerId)])];
}

function shared(conditions: readonly Condition[]): Scope {
  return files("shared", [
    ...conditions,
    condition("is shared", {}, () => sql`read_permission = 1`),
    condition("is shown", {}, () => isShownToOthersSql),
  ]);
}

function isOfOthers(readerId: string): Condition {
  return condition("user_id <>", { readerId }, (parameter) => sql`user_id <> ${parameter("readerId")}`);
}

function files(scope: "own" | "shared", conditions: readonly Condition[]): Scope {
  return {
    shape: `files ${scope}`,
    from: sql`files`,
    select: shownColumns,
    cell: scope === "own" ? sql`cell` : sql`seen_cell`,
    conditions,
  };
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
