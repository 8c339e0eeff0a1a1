import type { EventType } from "../../../server/src/event-log/event-types.ts";

/** Every type of the server; the compiler refuses a missing one. */
const known = {
  "checkin.created": true,
  "checkin.changed": true,
  "checkin.deleted": true,
  "location.created": true,
  "location.changed": true,
  "location.deleted": true,
  "location.flagged": true,
  "picture.created": true,
  "picture.changed": true,
  "picture.deleted": true,
  "video.created": true,
  "video.changed": true,
  "video.deleted": true,
  "blob.created": true,
  "blob.changed": true,
  "blob.deleted": true,
  "metadata.changed": true,
  "metadata.deleted": true,
  "user.created": true,
  "user.changed": true,
  "user.deleted": true,
  "user.disabled": true,
  "user.enabled": true,
  "user.signed_in": true,
  "user.signed_out": true,
  "identity.added": true,
  "identity.removed": true,
  "device.registered": true,
  "device.changed": true,
  "device.revoked": true,
  "crash_group.opened": true,
  "application.settings_changed": true,
  "application.keys_changed": true,
  "application.compromised": true,
  "application.suspended": true,
  "application.resumed": true,
  "webhook.disabled": true,
  "webhook.gap": true,
  "webhook.test": true,
} as const satisfies Record<EventType, true>;

/** The types of each kind of events, in the order of `known`. */
export const eventKinds: ReadonlyMap<string, readonly string[]> = Map.groupBy(Object.keys(known), kindOf);

export function kindOf(type: string): string {
  return type.split(".", 1)[0] ?? "";
}
