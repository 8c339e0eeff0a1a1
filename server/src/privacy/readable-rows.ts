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
 * What a user may read of such a table: the own rows, by where they are, and those that others share, by where others see
 * them (surface.md section 3).
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
  if (given === undefined) return [own, shared(table, [...conditions, isOfOthers(readerId)])];
  const ownerId = resolveUserId(given, readerId);
  return ownerId === readerId ? [own] : [shared(table, [...conditions, equals("user_id", ownerId)])];
}

function shared(table: SharedTable, conditions: readonly Condition[]): Scope {
  return rows(table, "shared", [
    ...conditions,
    condition("is shared", {}, () => sql`read_permission = 1`),
    condition("is shown", {}, () => table.isShownToOthers),
  ]);
}

function isOfOthers(readerId: string): Condition {
  return condition("user_id <>", { readerId }, (parameter) => sql`user_id <> ${parameter("readerId")}`);
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
