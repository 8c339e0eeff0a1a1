import { type RawBuilder, sql } from "kysely";
import { mayBePublic } from "../db/owned-tables.ts";
import type { LocatedRow, OwnedTableName } from "../db/tables.ts";
import type { Location } from "../lib/locations.ts";

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
 * engine evaluates it row by row and preserves the order of the listing. "<> 0" rather than "= 1": for "<>" PostgreSQL
 * estimates that nearly all rows pass, for "=" that nearly none do, and then it would sort them all instead of walking
 * an index for one page.
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

type MaybeLocated = { readonly [Name in keyof LocatedRow]: LocatedRow[Name] | null };

/**
 * Returns the location of an object as a user sees it: the true one for its owner, and the fuzzed one for everyone else
 * while the owner has locationFuzzing (spec/privacy#fuzzed-locations). All code that shows a location or searches by it
 * calls this.
 */
export function shownLocation(
  row: Pick<MaybeLocated, "lat" | "lng" | "seen_lat" | "seen_lng">,
  isOwner: boolean,
): Location | undefined {
  if (!isOwner && row.seen_lat !== null && row.seen_lng !== null) return { lat: row.seen_lat, lng: row.seen_lng };
  return row.lat === null || row.lng === null ? undefined : { lat: row.lat, lng: row.lng };
}
