import type { Caller } from "../contract/route.ts";
import type { EventRow } from "../db/tables.ts";
import { isForClients } from "../event-log/event-types.ts";

/** The parts of an event that a reader may see, before its object is read. */
export interface EventView {
  readonly type: string;
  readonly kind: string;
  /** Absent unless the event is a change. */
  readonly changed?: readonly string[];
  /** True for another user's object that the reader can no longer read; the event shows only its id. */
  readonly isBare?: true;
}

type Reader = Pick<Caller, "applicationId" | "userId" | "deviceId">;

/**
 * Returns the event as it changes the reader's own reads (spec/events#views): an object that becomes readable is
 * created, an object that stops being readable is deleted.
 *
 * @returns undefined when the reader must not receive it
 */
export function viewOf(event: EventRow, reader: Reader): EventView | undefined {
  if (!isForClients(event.type)) return undefined;
  const [kind = "", change = ""] = event.type.split(".");
  const view = { type: event.type, kind };
  if (kind === "device" && event.object_id !== reader.deviceId) return undefined;
  if (kind === "device") return change === "changed" ? withChanged(view, ownNames(event)) : view;
  if (kind === "metadata") return mayReadMetadata(event, reader) ? view : undefined;
  if (reader.userId === undefined) return undefined;
  if (event.user_id === reader.userId) return change === "changed" ? withChanged(view, ownNames(event)) : view;
  const [wasShown, isShown] = [event.was_shown === 1, event.is_shown === 1];
  if (wasShown && !isShown) return { type: `${kind}.deleted`, kind, isBare: true };
  if (!isShown) return undefined;
  if (wasShown) {
    const changed = sharedNames(event);
    return changed.length === 0 ? undefined : { ...view, changed };
  }
  // Clients receive no sign-ups, and a user who becomes visible has not signed up.
  return kind === "user" ? view : { type: `${kind}.created`, kind };
}

/** False for an event that only its user or its device may see. This cheap check excludes most events. */
export function mayConcernOthers({ type, was_shown, is_shown }: EventRow): boolean {
  return was_shown === 1 || is_shown === 1 || type.startsWith("metadata.");
}

/** True for the reader's own values, and for shared values of objects that the reader may read. */
function mayReadMetadata({ object_id, user_id, slot, is_shown }: EventRow, reader: Reader): boolean {
  if (slot !== "") return slot === reader.userId;
  if (object_id === reader.applicationId || object_id === reader.deviceId) return true;
  if (reader.userId === undefined) return false;
  return user_id === reader.userId || is_shown === 1;
}

function withChanged(view: EventView, changed: readonly string[]): EventView {
  return { ...view, changed };
}

const ownMark = "-";

/** The names of all changed fields. */
export function ownNames(event: EventRow): string[] {
  return namesOf(event).map((name) => (name.endsWith(ownMark) ? name.slice(0, -ownMark.length) : name));
}

function sharedNames(event: EventRow): string[] {
  return namesOf(event).filter((name) => !name.endsWith(ownMark));
}

function namesOf({ changed }: EventRow): string[] {
  return changed === "" ? [] : changed.split(",");
}
