import type { LocatedRow } from "../db/tables.ts";
import type { Location } from "../lib/locations.ts";

type MaybeLocated = { readonly [Name in keyof LocatedRow]: LocatedRow[Name] | null };

/**
 * Where somebody sees an object: its owner the true point, everybody else the shifted one while the owner has
 * locationFuzzing (surface.md section 5). Whatever shows a location, or searches by it, asks here.
 */
export function shownLocation(
  row: Pick<MaybeLocated, "lat" | "lng" | "seen_lat" | "seen_lng">,
  isOwner: boolean,
): Location | undefined {
  if (!isOwner && row.seen_lat !== null && row.seen_lng !== null) return { lat: row.seen_lat, lng: row.seen_lng };
  return row.lat === null || row.lng === null ? undefined : { lat: row.lat, lng: row.lng };
}
