import { type RawBuilder, sql } from "kysely";
import { mayBePublic } from "../db/owned-tables.ts";
import type { OwnedTableName } from "../db/tables.ts";

/**
 * Whether other users may see a row with the location of a user (spec/privacy#fuzzed-locations): with locationFuzzing
 * not before the row has its fuzzed location. The one definition of this rule: every statement that shows a row to
 * others contains it.
 *
 * @param user names the user whose location it is
 */
export function isLocationReady(table: string, user: string): RawBuilder<boolean> {
  const [fuzzing, lat, seen] = [`${user}.location_fuzzing`, `${table}.lat`, `${table}.seen_lat`];
  return sql<boolean>`${sql.ref(fuzzing)} = 0 or ${sql.ref(lat)} is null or ${sql.ref(seen)} is not null`;
}

/**
 * Joins the user of a row, unless the user is being deleted, and reads a condition on both as 1 or 0.
 *
 * @param application the parameter of the application's id: a distributed database would not find it in the row
 */
function ofUser(
  table: string,
  column: string,
  application: unknown,
  condition: (user: string) => RawBuilder<boolean>,
): RawBuilder<number> {
  return sql<number>`(
    select case when ${condition("owner")} then 1 else 0 end
    from users as owner
    where owner.application_id = ${application} and owner.id = ${sql.ref(`${table}.${column}`)}
      and owner.deleted_at is null
  )`;
}

/** {@link isLocationReady} as 1 or 0, and null while the user in this column is being deleted. */
export function locationReadiness(table: string, userColumn: string, application: unknown): RawBuilder<number> {
  return ofUser(table, userColumn, application, (user) => isLocationReady(table, user));
}

/**
 * Whether others see a shared row: its owner is not being deleted, and its location is ready. A subquery, so that the
 * engine evaluates it row by row and keeps the order of the listing. "<> 0" rather than "= 1": for "<>" PostgreSQL
 * estimates that nearly all rows pass, for "=" that nearly none do, and then it would sort them all instead of walking an
 * index for one page.
 */
export function isShownToOthers(table: OwnedTableName, application: unknown): RawBuilder<boolean> {
  return orPublic(table, sql<boolean>`${locationReadiness(table, "user_id", application)} <> 0`);
}

/** Whether the owner is not being deleted. A subquery for the same reasons. */
export function isOwnerThere(table: OwnedTableName, application: unknown): RawBuilder<boolean> {
  return orPublic(table, sql<boolean>`${ofUser(table, "user_id", application, () => sql<boolean>`1 = 1`)} <> 0`);
}

/** Every user sees public objects, which reveal no user's location. */
function orPublic(table: OwnedTableName, condition: RawBuilder<boolean>): RawBuilder<boolean> {
  return mayBePublic(table) ? sql<boolean>`(${sql.ref(`${table}.user_id`)} is null or ${condition})` : condition;
}
