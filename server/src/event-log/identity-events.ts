import type { NewEvent } from "./recorder.ts";

/** An identity that a user got or lost. Both the nouns users and identities give and take them. */
export function identityEvent(what: "added" | "removed", userId: string, provider: string): NewEvent {
  return { type: `identity.${what}`, objectId: userId, userId, key: provider };
}
