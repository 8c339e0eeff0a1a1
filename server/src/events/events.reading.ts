import type { Caller } from "../contract/route.ts";
import { resolveUserId } from "../contract/wire.ts";
import { showsObject } from "../event-log/event-types.ts";
import type { PlacedEvent } from "../event-log/log-rows.store.ts";
import { isInRange } from "../lib/cells.ts";
import { formatDate } from "../lib/dates.ts";
import { ApiError, type ErrorCondition } from "../lib/errors.ts";
import { collectionOf, kindOfId } from "../lib/ids.ts";
import { parseLocation } from "../lib/locations.ts";
import type { Dispatcher, OuterCall } from "../operations/dispatch.ts";
import type { EventFilters, PresentedEvent } from "./events.contract.ts";
import { readClientPatterns } from "./events.patterns.ts";
import { type EventView, viewOf } from "./events.views.ts";

/** Objects whose JSON is longer are omitted from events. */
export const objectBytesMax = 32_768;

/** Presents events to a reader; undefined if the reader must not receive an event. */
export type PresentEvent = (event: PlacedEvent) => Promise<PresentedEvent | undefined>;

/** An event as a reader sees it, with the current object. */
export interface SeenEvent {
  readonly event: PlacedEvent;
  readonly view: EventView;
  /** As JSON; undefined for deletions. */
  readonly object: string | undefined;
}

/** Reads the object of an event for a reader; undefined if the reader must not receive the event any more. */
export type ReadEvent = (event: PlacedEvent, view: EventView) => Promise<SeenEvent | undefined>;

/** Errors after which an event is omitted, because the reader may not read its object. */
const unreadable: ReadonlySet<ErrorCondition> = new Set([
  ...(["ItemDoesNotExist", "ObjectPermissionDenied", "OperationNotFound", "AuthAPICallDisabledByDeveloper"] as const),
  "AuthUserAccessTokenRequired",
]);

/**
 * Presents the events that pass the filters, as the caller may currently see them.
 * @throws ApiError ParameterIncorrectFormat
 */
export function createPresenter(
  filters: EventFilters,
  caller: Caller,
  outer: OuterCall,
  services: { readonly dispatcher: Dispatcher },
): PresentEvent {
  const filter = createFilter(filters, caller);
  const read = createEventReader(caller, outer, services);
  return async (event) => {
    if (!filter.matchesRow(event)) return undefined;
    const view = viewOf(event, caller);
    if (view === undefined || !filter.matchesType(view.type)) return undefined;
    const seen = await read(event, view);
    return seen !== undefined && filter.matchesObject(seen) ? presentEvent(seen) : undefined;
  };
}

/**
 * Reads objects through the caller's own GET operations, so an event shows nothing that a GET would not
 * (spec/events#privacy). Events of one object share a read.
 */
export function createEventReader(
  caller: Caller,
  outer: OuterCall,
  { dispatcher }: { readonly dispatcher: Dispatcher },
): ReadEvent {
  const found = new Map<string, Promise<string | undefined>>();

  function read(path: string): Promise<string | undefined> {
    return found.getOrInsertComputed(path, () =>
      dispatcher.read(path, caller, outer).catch((error) => {
        if (error instanceof ApiError && unreadable.has(error.condition)) return undefined;
        throw error;
      }),
    );
  }

  return async (event, view) => {
    if (view.type === "metadata.deleted" && !(await mayReadCarrier(event, caller, read))) return undefined;
    if (!showsObject(view.type)) return { event, view, object: undefined };
    const object = await read(pathOf(event));
    return object === undefined ? undefined : { event, view, object };
  };
}

/** The filters of a reader, cheapest first. */
export interface EventFilter {
  /** With ids in place of `me`, `current` and `app`, so that equal filters of several callers compare as equal. */
  readonly conditions: EventFilters;
  /** The user or object that the filter names, if any. */
  readonly subject: string | undefined;
  matchesRow(event: PlacedEvent): boolean;
  matchesType(type: string): boolean;
  matchesObject(seen: SeenEvent): boolean;
}

/** @throws ApiError ParameterIncorrectFormat */
export function createFilter(filters: EventFilters, caller: Caller): EventFilter {
  const conditions = resolveWords(filters, caller);
  return {
    conditions,
    subject: conditions.objectID ?? conditions.userID,
    matchesRow: (event) => matchesRow(event, conditions),
    matchesType: readClientPatterns(filters.types),
    matchesObject: (seen) => matchesObject(seen, conditions, caller),
  };
}

/** @throws ApiError AuthUserAccessTokenRequired for `me` of a device, as in any other search */
function resolveWords({ userID, objectID, ...others }: EventFilters, caller: Caller): EventFilters {
  if (caller.userId === undefined && (userID === "me" || objectID === "me")) {
    throw new ApiError("AuthUserAccessTokenRequired");
  }
  return {
    ...others,
    ...(userID !== undefined && { userID: resolveUserId(userID, caller.userId ?? "") }),
    ...(objectID !== undefined && { objectID: objectIdOf(objectID, caller) ?? "" }),
  };
}

export function presentEvent({ event, view, object }: SeenEvent): PresentedEvent {
  const { id, at, object_id, user_id, key, slot } = event;
  const base = { id, type: view.type, created: formatDate(at), objectID: object_id };
  if (view.isBare) return base;
  const isTooLarge = object !== undefined && Buffer.byteLength(object) > objectBytesMax;
  return {
    ...base,
    ...(user_id !== null && { userID: user_id }),
    ...(key !== null && { key }),
    ...(slot !== null && { visibility: slot === "" ? ("App" as const) : ("User" as const) }),
    ...(view.changed && { changed: [...view.changed] }),
    ...(object !== undefined && (isTooLarge ? { isTooLarge: true as const } : { object })),
  };
}

/** The path of the GET that returns the object of an event. */
function pathOf({ object_id, key, slot }: PlacedEvent): string {
  if (key !== null && slot !== null) {
    const visibility = slot === "" ? "App" : "User";
    return `/metadata/${object_id}/${encodeURIComponent(key)}?visibility=${visibility}`;
  }
  return objectPath(object_id);
}

/** A client receives events about its own device only, so the path of a device is always `current`. */
function objectPath(id: string): string {
  return kindOfId(id) === "Device" ? "/devices/current" : `/${collectionOf(id)}/${id}`;
}

/** Decides about a deleted value by reading the object that carried it. */
async function mayReadCarrier(
  { object_id, user_id }: PlacedEvent,
  { userId }: Caller,
  read: (path: string) => Promise<string | undefined>,
): Promise<boolean> {
  const kind = kindOfId(object_id);
  if (user_id === userId || kind === "Device" || kind === "App") return true; // the caller's own device, or the application
  return (await read(objectPath(object_id))) !== undefined;
}

function matchesRow(event: PlacedEvent, filters: EventFilters): boolean {
  const { userID, objectID, key, keyPrefix, visibility } = filters;
  if (userID !== undefined && event.user_id !== userID) return false;
  if (objectID !== undefined && event.object_id !== objectID) return false;
  if (key !== undefined && event.key !== key) return false;
  if (keyPrefix !== undefined && event.key?.startsWith(keyPrefix) !== true) return false;
  return visibility === undefined || (event.slot !== null && (event.slot === "" ? "App" : "User") === visibility);
}

function objectIdOf(given: string, { applicationId, userId, deviceId }: Caller): string | undefined {
  const words = new Map([
    ["app", applicationId],
    ["me", userId],
    ["current", deviceId],
  ]);
  return words.has(given) ? words.get(given) : given;
}

/** Matches the object as the caller sees it, so that an area filter reveals no more than a search. */
function matchesObject(
  { event: { user_id, type }, view, object: json }: SeenEvent,
  { locationRange, tag }: EventFilters,
  { userId }: Caller,
): boolean {
  if (locationRange === undefined && tag === undefined) return true;
  if (json === undefined) return view.type.endsWith(".deleted"); // because the deleted object may have matched
  const object: { readonly tag?: unknown; readonly location?: unknown } = JSON.parse(json); // a result is an object
  if (tag !== undefined && object.tag !== tag) return false;
  if (locationRange === undefined) return true;
  if (type.startsWith("user.") && user_id !== userId) return false;
  const location = parseLocation(object.location);
  return "value" in location && isInRange(location.value, locationRange);
}
