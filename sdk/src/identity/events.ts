import type { Session } from "./session.ts";

/** The events of a client, emitted in every tab. No event contains a token. */
export type EventName =
  | "ready"
  | "signedIn"
  | "signedOut"
  | "sessionEnded"
  | "sessionChanged"
  | "renewed"
  | "deviceRegistered"
  | "deviceRejected"
  | "rootChanged"
  | "storeFailed"
  | "warning";

export interface RollcallEvent {
  readonly type: EventName;
  /** The session that the event is about; for `sessionChanged` the current session, if a user is signed in. */
  readonly session?: Session;
  readonly error?: unknown;
  readonly message?: string;
}

/** The event with a given name. */
export type EventOf<E extends EventName> = RollcallEvent & { readonly type: E };
