import type { NewEvent } from "./recorder.ts";

/** The events of an identity that a user gains or loses, shared by the nouns users and identities. */
export function identityEvent(what: "added" | "removed", userId: string, provider: string): NewEvent {
  return { type: `identity.${what}`, objectId: userId, userId, key: provider };
}
