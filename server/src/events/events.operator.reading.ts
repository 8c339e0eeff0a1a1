import { systemReader } from "../contract/actors.ts";
import type { OperatorCaller } from "../contract/route.ts";
import { showsObject } from "../event-log/event-types.ts";
import type { PlacedEvent } from "../event-log/log-rows.store.ts";
import { isRevocation } from "../event-log/revocations.ts";
import { formatDate } from "../lib/dates.ts";
import { ApiError } from "../lib/errors.ts";
import { collectionOf, kindOfId } from "../lib/ids.ts";
import { parseJson, writeJson } from "../lib/json.ts";
import type { OuterCall } from "../operations/dispatch.ts";
import type { Services } from "../operations/services.ts";
import type { PresentedOperatedEvent } from "./events.operator.contract.ts";
import { objectBytesMax } from "./events.reading.ts";
import { ownNames } from "./events.views.ts";

export interface OperatorReading {
  /** By default, an internal caller with read access to everything. */
  readonly caller?: OperatorCaller;
  /** The request that the event is read for; absent outside of requests. */
  readonly outer?: OuterCall;
  /**
   * `shown`: the location that other users see, if any, with `isShifted` if it is fuzzed.
   * `true`: the location that an operator's GET returns.
   */
  readonly locations: "true" | "shown";
}

/** Presents rows of a log to an operator or a system of the operator; undefined for revocations. */
export type PresentToOperator = (event: PlacedEvent) => Promise<PresentedOperatedEvent | undefined>;

/**
 * Creates a presenter for operators and webhooks, with the object as an operator's GET currently returns it
 * (spec/events#operators-view). It reads each object once, so create one per page.
 */
export function createOperatorPresenter(
  { caller = systemReader, outer = outsideOfRequests, locations }: OperatorReading,
  { dispatcher }: Pick<Services, "dispatcher">,
): PresentToOperator {
  const found = new Map<string, Promise<string | undefined>>();

  function read(path: string): Promise<string | undefined> {
    return found.getOrInsertComputed(path, () =>
      dispatcher.read(path, caller, outer).catch((error) => {
        if (error instanceof ApiError && error.condition === "ItemDoesNotExist") return undefined;
        throw error;
      }),
    );
  }

  async function readObject(event: PlacedEvent): Promise<string | undefined> {
    const json = await read(pathOf(event));
    if (json === undefined) return undefined;
    if (event.slot === null && locations === "true") return json;
    const result = parseJson(json) as JsonObject;
    const object = event.slot === null ? result : itemOf(result, event);
    if (object === undefined) return undefined;
    const written = writeJson(locations === "true" ? object : withShownLocation(object, event));
    return "value" in written ? written.value : undefined; // it comes from JSON, which holds no number out of range
  }

  return async (event) => {
    if (isRevocation(event)) return undefined;
    if (!showsObject(event.type)) return presentRow(event);
    const object = await readObject(event);
    if (object === undefined) return { ...presentRow(event), isGone: true };
    if (Buffer.byteLength(object) > objectBytesMax) return { ...presentRow(event), isTooLarge: true };
    return { ...presentRow(event), object };
  };
}

type JsonObject = Readonly<Record<string, unknown>>;

const outsideOfRequests: OuterCall = { authorization: undefined, address: "", idempotencyKey: undefined };
const sequenceDigits = 20;

function presentRow(event: PlacedEvent): PresentedOperatedEvent {
  const { id, type, at, object_id, item_id, user_id, key, slot, actor_kind, actor_id, position } = event;
  const isOfApplication = type.startsWith("application.");
  const changed = ownNames(event);
  return {
    ...{ id, type, created: formatDate(at) },
    ...(!isOfApplication && { objectID: object_id }),
    ...(item_id !== null && { itemID: item_id }),
    ...(user_id !== null && { userID: user_id }),
    ...(key !== null && { key }),
    ...(slot !== null && { visibility: slot === "" ? ("App" as const) : ("User" as const) }),
    ...(type.endsWith("changed") && slot === null && { changed }),
    ...(actor_kind !== null && { actor: { kind: actor_kind, ...(actor_id !== null && { id: actor_id }) } }),
    sequence: `${position}`.padStart(sequenceDigits, "0"),
  };
}

/** The path of the operator's GET that returns the object of an event. */
function pathOf({ application_id, object_id, key, slot }: PlacedEvent): string {
  const root = `/_/api/applications/${application_id}`;
  if (key === null || slot === null) return `${root}/${collectionOf(object_id)}/${object_id}`;
  const owner = slot === "" ? "visibility=App" : `visibility=User&userID=${slot}`;
  return `${root}/metadata/${object_id}?key=${encodeURIComponent(key)}&${owner}&pageSize=1`;
}

/** The item of the event's key in a page of metadata. */
function itemOf(page: JsonObject, { key }: PlacedEvent): JsonObject | undefined {
  const items = page["pageResults"] as readonly JsonObject[];
  return items.find((item) => item["key"] === key);
}

/** Replaces the true location by the location that other users see, or omits it. */
function withShownLocation(object: JsonObject, { object_id, slot }: PlacedEvent): JsonObject {
  const { location, shownLocation, ...others } = object;
  const kind = kindOfId(object_id);
  // Other users never see the location of a user, of a device or of a private value.
  const isOwn = slot === null ? kind === "User" || kind === "Device" : slot !== "";
  if (location === undefined || isOwn) return others;
  return shownLocation === undefined ? object : { ...others, location: shownLocation, isShifted: true };
}
