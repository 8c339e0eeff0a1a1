import { ownedIdKinds } from "../db/owned-tables.ts";
import type { IdKind } from "../lib/ids.ts";

type OwnedKindName = Lowercase<"Checkin" | "Location" | "Picture" | "Video" | "Blob">;
type OwnedChange = "created" | "changed" | "deleted";

/** The kinds of events, and what can happen to each (spec/events#types). */
export type EventType =
  | `${OwnedKindName}.${OwnedChange}`
  | "metadata.changed"
  | "metadata.deleted"
  | "user.changed"
  | "user.deleted"
  | "device.changed";

const otherTypes = ["metadata.changed", "metadata.deleted", "user.changed", "user.deleted", "device.changed"] as const;

/** All types, which clients may subscribe to. */
export const eventTypes: readonly EventType[] = [
  ...ownedIdKinds.flatMap((kind) => [
    ownedEventType(kind, "created"),
    ownedEventType(kind, "changed"),
    ownedEventType(kind, "deleted"),
  ]),
  ...otherTypes,
];

/** The type of what happened to an owned object. */
export function ownedEventType(kind: IdKind, change: OwnedChange): EventType {
  return `${kind.toLowerCase() as OwnedKindName}.${change}`; // users own objects of these kinds alone
}
