import type { OwnedRow } from "../db/tables.ts";
import { ownedEventType } from "../event-log/event-types.ts";
import type { NewEvent } from "../event-log/recorder.ts";
import { kindOfId } from "../lib/ids.ts";
import { isOwnedKind } from "../lib/kinds.ts";
import { shownLocation } from "../privacy/shown-location.ts";
import type { OwnedKind } from "./kind.ts";

/** The object that an event is about, and its audience. */
type Readable = Pick<OwnedRow, "id" | "user_id" | "read_permission">;

export function createdEvent(row: Readable): NewEvent {
  return { ...about(row, "created"), isShown: isShown(row) };
}

export function deletedEvent(row: Readable): NewEvent {
  return { ...about(row, "deleted"), wasShown: isShown(row) };
}

export function changedEvent<Row extends OwnedRow>(kind: OwnedKind<Row>, before: Row, after: Row): NewEvent {
  return {
    ...about(after, "changed"),
    changed: changedNames(kind, before, after),
    wasShown: isShown(before),
    isShown: isShown(after),
  };
}

function about({ id, user_id }: Readable, change: "created" | "changed" | "deleted") {
  const kind = kindOfId(id);
  if (!isOwnedKind(kind)) throw new Error(`${id} is not the id of an owned object`);
  return { type: ownedEventType(kind, change), objectId: id, userId: user_id };
}

function isShown({ read_permission, user_id }: Readable): boolean {
  return read_permission === 1 || user_id === null;
}

/**
 * The fields that are different, as results name them; other users receive a location only if their view of it changes.
 */
function changedNames<Row extends OwnedRow>({ fields }: OwnedKind<Row>, before: Row, after: Row): string[] {
  const names = fields.filter((field) => field.valueOf(before) !== field.valueOf(after)).map(({ name }) => name);
  if (before.tag !== after.tag) names.push("tag");
  if (!isSamePoint(before, after, false)) names.push("location");
  else if (!isSamePoint(before, after, true)) names.push("location-");
  if (before.read_permission !== after.read_permission) names.push("readPermissions");
  if (before.write_permission !== after.write_permission) names.push("writePermissions");
  return names;
}

function isSamePoint(before: OwnedRow, after: OwnedRow, isOwner: boolean): boolean {
  const [from, to] = [shownLocation(before, isOwner), shownLocation(after, isOwner)];
  return from?.lat === to?.lat && from?.lng === to?.lng;
}
