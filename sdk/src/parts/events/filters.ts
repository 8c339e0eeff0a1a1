import type { Event, Permission } from "../../generated/types.ts";
import type { Box, Near, Place } from "../../wire/values.ts";
import type { EventPattern } from "./live-event.ts";

/**
 * Selects the events of a subscription: an event must match all members. An empty filter selects all events that the user
 * may see.
 */
export interface EventFilter {
  /** Types such as `checkin.created`, `checkin.*` or `*`; at most 20. */
  readonly types?: readonly EventPattern[] | undefined;
  /** Only events of this owner; `me` for the user's own. */
  readonly userID?: string | undefined;
  /** Only events about this object: an id, or `me`, `current` or `app`. */
  readonly objectID?: string | undefined;
  /** Only objects within a circle. A change that moves an object out of the circle is not reported. */
  readonly near?: Near | undefined;
  /** Only objects within a box, with the same restriction. */
  readonly box?: Box | undefined;
  /** Only objects that currently have this tag. */
  readonly tag?: string | undefined;
  /** Only metadata with this key. */
  readonly key?: string | undefined;
  /** Only metadata whose key begins with this string. */
  readonly keyPrefix?: string | undefined;
  /** Only metadata with this visibility. */
  readonly visibility?: Permission | undefined;
}

/** The parameters of a filter. */
export type FilterQuery = Omit<EventFilter, "types"> & { readonly types?: string | undefined };

const patternsMax = 20;
const earthRadius = 6_371_008.8;
const degree = Math.PI / 180;

/** Returns the same key for equal filters. */
export function keyOf(filter: EventFilter): string {
  const members = Object.entries(filter).filter(([, value]) => value !== undefined);
  return JSON.stringify(members.sort(([a], [b]) => (a < b ? -1 : 1)));
}

export function queryOf({ types, ...rest }: EventFilter): FilterQuery {
  return types === undefined ? rest : { ...rest, types: types.join(",") };
}

/** The narrowest single filter that matches every event that any of the filters matches. */
export function unionOf(filters: readonly EventFilter[]): EventFilter {
  const [first = {}, ...others] = filters;
  if (others.length === 0) return first;
  const common = (name: "userID" | "objectID") =>
    others.every((other) => other[name] === first[name]) ? first[name] : undefined;
  const types = new Set(filters.flatMap((filter) => filter.types ?? "*"));
  const isLong = types.size > patternsMax || types.has("*");
  return { userID: common("userID"), objectID: common("objectID"), types: isLong ? undefined : [...types] };
}

/**
 * Whether an event of a wider stream matches a filter. Of deletions some members are unknown, and count as a match, as
 * at the service.
 */
export function isFor(filter: EventFilter, event: Event, userId: string | undefined): boolean {
  const { types, userID, objectID, key, keyPrefix, visibility, tag, near, box } = filter;
  const { type, object } = event;
  const [kind = "", what] = type.split(".");
  const isHidden = what === "deleted" || event.isTooLarge === true;
  const fits = (wanted: string | undefined, found: unknown) =>
    wanted === undefined || wanted === found || (found === undefined && isHidden);
  const ofMetadata = key ?? keyPrefix ?? visibility;
  const members = Object(object);
  return (
    (types?.some((pattern) => [type, `${kind}.*`, "*"].includes(pattern.toLowerCase())) ?? true) &&
    fits(userID === "me" ? userId : userID, event.userID) &&
    isAbout(objectID, event.objectID, userId) &&
    (ofMetadata === undefined || kind === "metadata") &&
    fits(key, event.key) &&
    (keyPrefix === undefined || (event.key ?? keyPrefix).startsWith(keyPrefix)) &&
    fits(visibility, event.visibility) &&
    fits(tag, members.tag) &&
    ((near === undefined && box === undefined) || isHidden || isWithin(members.location, near, box))
  );
}

function isAbout(wanted: string | undefined, found: string, userId: string | undefined): boolean {
  if (wanted === undefined) return true;
  // A caller has one device and one application.
  if (wanted === "current" || wanted === "app") return found.startsWith(wanted === "app" ? "app_" : "dev_");
  return found === (wanted === "me" ? userId : wanted);
}

function isWithin(place: Place | undefined, near: Near | undefined, box: Box | undefined): boolean {
  if (place === undefined) return false;
  if (near !== undefined) return distance(place, near) <= near.meters;
  if (box === undefined) return true;
  const { southWest, northEast } = box;
  const [west, east] = [southWest.lng <= place.lng, place.lng <= northEast.lng];
  const isBetween = southWest.lng <= northEast.lng ? west && east : west || east;
  return isBetween && southWest.lat <= place.lat && place.lat <= northEast.lat;
}

/** In metres, along a great circle. */
function distance(a: Place, b: Place): number {
  const half = (from: number, to: number) => Math.sin(((to - from) * degree) / 2) ** 2;
  const chord = half(a.lat, b.lat) + Math.cos(a.lat * degree) * Math.cos(b.lat * degree) * half(a.lng, b.lng);
  return 2 * earthRadius * Math.asin(Math.min(1, Math.sqrt(chord)));
}
