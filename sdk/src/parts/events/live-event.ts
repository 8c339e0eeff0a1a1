import type {
  Blob,
  Checkin,
  Device,
  Event,
  Location,
  MetadataItem,
  OwnUser,
  Picture,
  ShownUser,
  Video,
} from "../../generated/types.ts";

/** An event of certain types. `object` is as a GET currently returns it; deletions have none. */
export interface EventAbout<Type extends string, T> extends Omit<Event, "type" | "object"> {
  readonly type: Type;
  readonly object?: T;
}

/** The types of events that a client can subscribe to. */
export type EventType = LiveEvent["type"];

type EventKind = "checkin" | "location" | "picture" | "video" | "blob" | "metadata" | "user" | "device" | "identity";

/** A type, all types of a kind, or all types. */
export type EventPattern = EventType | `${EventKind}.*` | "*";

/** An event of a subscription. A newer service may send types that are not listed: ignore those. */
export type LiveEvent =
  | EventAbout<"checkin.created" | "checkin.changed" | "checkin.deleted", Checkin>
  | EventAbout<"location.created" | "location.changed" | "location.deleted", Location>
  | EventAbout<"picture.created" | "picture.changed" | "picture.deleted", Picture>
  | EventAbout<"video.created" | "video.changed" | "video.deleted", Video>
  | EventAbout<"blob.created" | "blob.changed" | "blob.deleted", Blob>
  | EventAbout<"metadata.changed" | "metadata.deleted", MetadataItem>
  | EventAbout<"user.changed" | "user.deleted", OwnUser | ShownUser>
  | EventAbout<"device.registered" | "device.changed" | "device.revoked", Device>
  | EventAbout<"identity.added" | "identity.removed" | "user.signed_in" | "user.signed_out", undefined>;
