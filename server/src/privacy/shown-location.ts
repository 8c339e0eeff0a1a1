import type { LocatedRow } from "../db/tables.ts";
import type { Location } from "../lib/locations.ts";

type MaybeLocated = { readonly [Name in keyof LocatedRow]: LocatedRow[Name] | null };

/**
 * The location of an object as a user sees it: the true one for its owner, and the fuzzed one for everyone else while
 * the owner has locationFuzzing (spec/privacy#fuzzed-locations). All code that shows a location or searches by it calls
 * this.
 */
export function shownLocation(
  row: Pick<MaybeLocated, "lat" | "lng" | "seen_lat" | "seen_lng">,
  isOwner: boolean,
): Location | undefined {
  if (!isOwner && row.seen_lat !== null && row.seen_lng !== null) return { lat: row.seen_lat, lng: row.seen_lng };
  return row.lat === null || row.lng === null ? undefined : { lat: row.lat, lng: row.lng };
}
