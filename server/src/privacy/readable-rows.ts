import { type RawBuilder, sql } from "kysely";
import { type Condition, condition, equals } from "../db/conditions.ts";
import { valueFilter } from "../db/filters.ts";
import type { Scope } from "../db/scope.ts";
import type { Filter, Search } from "../db/search.ts";
import { resolveUserId } from "../http/wire.ts";
import { isShownToOthers } from "./visibility.ts";

/** A table of objects that users own and may share. */
export interface SharedTable {
  readonly name: "checkins" | "files";
  readonly select: RawBuilder<unknown>;
}

/**
 * The rows of a shared table that a user may read: the user's own by true location, and shared ones by fuzzed location
 * (spec/search#search-scope). Own shared rows match both scopes, because excluding them here would make a page scan all
 * of them.
 *
 * @param given restricts to the rows of one owner; `me` for the reader
 */
export function readableRows<Row extends OwnedRow>(
  table: SharedTable,
  readerId: string,
  given: string | undefined,
  conditions: readonly Condition[],
): { readonly scopes: Search<unknown>["scopes"]; readonly filters: readonly Filter<Row>[] } {
  const own = rows(table, "own", [...conditions, equals("user_id", readerId)]);
  if (given === undefined) return { scopes: [own, shared(table, conditions)], filters: [] };
  const ownerId = resolveUserId(given, readerId);
  if (ownerId === readerId) return { scopes: [own], filters: [] };
  return { scopes: [shared(table, conditions)], filters: [valueFilter("user_id", ownerId)] };
}

interface OwnedRow {
  readonly id: string;
  readonly user_id: string;
  readonly created_at: number;
}

const isShared = condition("is shared", {}, () => sql`read_permission = 1`);
/** Worded like the partial indexes, so that the planner uses them. */
const isNotShared = condition("is not shared", {}, () => sql`coalesce(read_permission, 0) <> 1`);

/** All rows that meet these conditions, through the indexes of shared and of private rows. */
export function everyRow(
  scope: Omit<Scope, "conditions">,
  conditions: readonly Condition[],
): Search<unknown>["scopes"] {
  return [
    { ...scope, conditions: [...conditions, isShared] },
    { ...scope, conditions: [...conditions, isNotShared] },
  ];
}

function shared(table: SharedTable, conditions: readonly Condition[]): Scope {
  return rows(table, "shared", [...conditions, isShared, condition("is shown", {}, () => isShownToOthers(table.name))]);
}

function rows(table: SharedTable, scope: "own" | "shared", conditions: readonly Condition[]): Scope {
  return {
    shape: `${table.name} ${scope}`,
    from: sql.ref(table.name),
    select: table.select,
    cell: scope === "own" ? sql`cell` : sql`seen_cell`,
    conditions,
  };
}
