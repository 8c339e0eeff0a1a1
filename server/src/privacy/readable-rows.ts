import { type RawBuilder, sql } from "kysely";
import { type Condition, condition, equals } from "../db/conditions.ts";
import type { Scope } from "../db/scope.ts";
import type { Search } from "../db/search.ts";
import { resolveUserId } from "../http/wire.ts";

/** A table of what users own, and may share. */
export interface SharedTable {
  readonly name: "checkins" | "files";
  readonly select: RawBuilder<unknown>;
  /** Whether others see a shared row at all. */
  readonly isShownToOthers: RawBuilder<boolean>;
}

/**
 * What a user may read of such a table: the own rows, by where they are, and those that are shared, by where others see
 * them (surface.md section 3). The own ones that are shared are in both: to leave them out here, a page would have to walk
 * over all of them.
 *
 * @param given only what this user owns; `me` for the reader
 */
export function readableRows(
  table: SharedTable,
  readerId: string,
  given: string | undefined,
  conditions: readonly Condition[],
): Search<unknown>["scopes"] {
  const own = rows(table, "own", [...conditions, equals("user_id", readerId)]);
  if (given === undefined) return [own, shared(table, conditions)];
  const ownerId = resolveUserId(given, readerId);
  return ownerId === readerId ? [own] : [shared(table, [...conditions, equals("user_id", ownerId)])];
}

const isShared = condition("is shared", {}, () => sql`read_permission = 1`);
/** In the words of the indexes. */
const isNotShared = condition("is not shared", {}, () => sql`coalesce(read_permission, 0) <> 1`);

/** All rows that meet these conditions, by the indexes of those that are shared and of those that are not. */
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
  return rows(table, "shared", [...conditions, isShared, condition("is shown", {}, () => table.isShownToOthers)]);
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
