import type { NewEvent } from "../event-log/recorder.ts";
import type { Bag, Carrier } from "./metadata.objects.ts";

/** The change of a write in a slot of an object: a slot of a user concerns that user alone. */
export function metadataEvent(
  change: "changed" | "deleted",
  { objectId, slot }: Bag,
  key: string,
  { ownerId, isShown }: Carrier,
): NewEvent {
  const isShared = slot === "";
  return {
    type: `metadata.${change}`,
    ...{ objectId, key, slot },
    userId: isShared ? ownerId : slot,
    isShown: isShared && isShown,
  };
}
