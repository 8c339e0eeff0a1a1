import { type RawBuilder, sql } from "kysely";
import { readSortOrder } from "../contract/search.ts";
import { resolveUserId } from "../contract/wire.ts";
import {
  type Condition,
  condition,
  equals,
  numberOrder,
  type Order,
  textOrder,
  within,
} from "../db/search/conditions.ts";
import { rangeFilter, textFilter, valueFilter } from "../db/search/filters.ts";
import type { Scope } from "../db/search/scope.ts";
import type { Filter, Search } from "../db/search/search.ts";
import type { OwnedRow, ShownRow } from "../db/tables.ts";
import type { DateRange } from "../lib/dates.ts";
import { ApiError } from "../lib/errors.ts";
import type { LocationRange } from "../lib/locations.ts";
import { isOwnerThere, isShownToOthers, shownLocation } from "../privacy/visibility.ts";
import type { OwnedKind } from "./kind.ts";

/** The parameters that all searches of owned objects have; a kind's fields are read by their names. */
export interface OwnedFilters {
  readonly userID?: string;
  readonly tag?: string;
  readonly created?: DateRange;
  readonly lastModified?: DateRange;
  readonly locationRange?: LocationRange;
  readonly sortOrder?: string;
}

const commonOrders = {
  created: numberOrder("created_at"),
  lastModified: numberOrder("modified_at"),
  tag: textOrder("tag"),
} as const satisfies Record<string, Order<ShownRow<OwnedRow>>>;

/** The names of the orders in which clients list a kind, except for `distance`. */
export function ordersOf({ fields }: OwnedKind<never>): readonly string[] {
  return [...Object.keys(commonOrders), ...fields.filter(({ search }) => search !== undefined).map(({ name }) => name)];
}

/**
 * Searches a user's own objects of a kind, by true location, and objects that others share, by fuzzed location
 * (spec/search#search-scope).
 *
 * @throws ApiError ParameterIncorrectFormat for `distance` without a locationRange
 */
export function ownedSearch<Row extends OwnedRow>(
  kind: OwnedKind<Row>,
  applicationId: string,
  readerId: string,
  given: OwnedFilters,
): Search<ShownRow<Row>> {
  const { name, isDescending } = readSortOrder<string>(given, "-created");
  const { locationRange, userID } = given;
  const conditions = [equals("application_id", applicationId), ...literalKind(kind)];
  const { own: ownParts, shared: sharedParts, withoutUser } = partsOf(kind);
  const constants = { select: withoutUser, values: { user_id: readerId } };
  const own: Scope = { ...ownParts, constants, conditions: [...conditions, equals("user_id", readerId)] };
  const shared: Scope = { ...sharedParts, conditions: [...conditions, isShared] };
  const ownerId = userID && resolveUserId(userID, readerId);
  // Own shared rows match both scopes, because excluding them would make a page scan all of them.
  const scopes: Search<unknown>["scopes"] =
    ownerId === undefined ? [own, shared] : [ownerId === readerId ? own : shared];
  const byOwner = ownerId === undefined || ownerId === readerId ? [] : [valueFilter("user_id", ownerId)];
  return {
    scopes,
    filters: [...byOwner, ...filtersOf(kind, given)],
    order: orderOf(kind, name === "distance" ? "created" : name),
    isDescending,
    area: locationRange && {
      range: locationRange,
      isByDistance: name === "distance",
      locationOf: (row) => shownLocation(row, row.user_id === readerId),
    },
  };
}

function orderOf<Row extends OwnedRow>(kind: OwnedKind<Row>, name: string): Order<ShownRow<Row>> {
  const field = kind.fields.find((each) => each.name === name);
  const order = field?.search?.order ?? Object.entries(commonOrders).find(([common]) => common === name)?.[1];
  if (order === undefined) throw new Error(`${kind.idKind} has no order ${name}`);
  return order;
}

function filtersOf<Row extends OwnedRow>(kind: OwnedKind<Row>, filters: OwnedFilters): Filter<ShownRow<Row>>[] {
  const { tag, created, lastModified } = filters;
  const given: Readonly<Record<string, unknown>> = { ...filters };
  const found: Filter<ShownRow<Row>>[] = [];
  if (tag !== undefined) found.push(textFilter("tag", tag));
  for (const field of kind.fields) {
    const value = given[field.name];
    if (value !== undefined && field.search !== undefined) found.push(field.search.filterOf(value));
  }
  if (created !== undefined) found.push(rangeFilter("created_at", created, commonOrders.created));
  if (lastModified !== undefined) found.push(rangeFilter("modified_at", lastModified, commonOrders.lastModified));
  return found;
}

/** A literal, because some indexes cover one kind only. */
function literalKind({ kindColumn, idKind }: OwnedKind<never>): Condition[] {
  if (kindColumn === undefined) return [];
  return [condition(`is ${idKind}`, {}, () => sql`${sql.ref(kindColumn)} = ${sql.lit(idKind)}`)];
}

const isShared = condition("is shared", {}, () => sql`read_permission = 1`);
/** Worded like the partial indexes, so that the planner uses them. */
const isNotShared = condition("is not shared", {}, () => sql`coalesce(read_permission, 0) <> 1`);

const commonColumns = [
  ...(["id", "user_id", "tag", "lat", "lng", "seen_lat", "seen_lng"] as const),
  ...(["read_permission", "write_permission", "created_at", "modified_at"] as const),
] satisfies (keyof ShownRow<OwnedRow>)[];

/** The parts of searches that are the same for all callers. */
interface Parts extends Readonly<Record<"own" | "shared", Omit<Scope, "conditions">>> {
  /** The columns of an object without its user: a string costs several times as much as a number. */
  readonly withoutUser: RawBuilder<unknown>;
}

/** Built once for each kind, because building SQL costs more than reading a row. */
const partsByKind = new WeakMap<OwnedKind<never>, Parts>();

function partsOf(kind: OwnedKind<never>): Parts {
  const cached = partsByKind.get(kind);
  if (cached !== undefined) return cached;
  const { table, fields, columns = [] } = kind;
  const names = new Set([...commonColumns, ...fields.map(({ column }) => column), ...columns]);
  const selectOf = (columnNames: readonly string[]) => sql.join(columnNames.map((name) => sql.ref(name)));
  const rowParts = { from: sql.ref(table), select: selectOf([...names]), isKeyedById: true };
  const isShown = condition("is shown", {}, (parameter) => isShownToOthers(table, parameter("application_id")));
  const parts = {
    own: { ...rowParts, shape: `${table} own`, cell: sql`cell` },
    shared: { ...rowParts, shape: `${table} shared`, cell: sql`seen_cell`, rowCondition: isShown, isForAll: true },
    withoutUser: selectOf([...names].filter((name) => name !== "user_id")),
  };
  partsByKind.set(kind, parts);
  return parts;
}

/**
 * Searches all objects of a kind in an application by their true locations, for operators.
 *
 * @throws ApiError ParameterIncorrectFormat for `distance` without a locationRange, ParameterMissingRequiredValue for a
 * locationRange without a user: true locations are indexed per user only
 */
export function operatedSearch<Row extends OwnedRow>(
  { table, kindColumn, idKind }: OwnedKind<Row>,
  applicationId: string,
  given: Omit<OwnedFilters, "tag">,
): Search<Row> {
  const { userID, created, lastModified, locationRange } = given;
  if (locationRange !== undefined && userID === undefined) {
    throw new ApiError("ParameterMissingRequiredValue", "userID is required with locationRange.", {
      parameter: "userID",
    });
  }
  const conditions: Condition[] = [equals("application_id", applicationId)];
  if (kindColumn !== undefined) conditions.push(equals(kindColumn, idKind));
  if (userID !== undefined) conditions.push(equals("user_id", userID));
  if (created !== undefined) conditions.push(...within("created_at", created));
  if (lastModified !== undefined) conditions.push(...within("modified_at", lastModified));
  conditions.push(condition("is there", {}, (parameter) => isOwnerThere(table, parameter("application_id"))));
  const scope = {
    shape: `${table} all`,
    from: sql.table(table),
    select: sql`${sql.table(table)}.*`,
    cell: sql.ref("cell"),
  };
  const { name, isDescending } = readSortOrder<string>(given, "-created");
  return {
    scopes:
      userID === undefined
        ? [
            { ...scope, conditions: [...conditions, isShared] },
            { ...scope, conditions: [...conditions, isNotShared] },
          ]
        : [{ ...scope, conditions }],
    order: commonOrders.created,
    isDescending,
    area: locationRange && {
      range: locationRange,
      isByDistance: name === "distance",
      locationOf: (row) => shownLocation(row, true),
    },
  };
}
