import type { Session } from "./session.ts";

/** The events that an app can listen to, in every tab. No event holds a token. */
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
  /** The session that the event is about; of `sessionChanged` the current one, if there is one. */
  readonly session?: Session;
  readonly error?: unknown;
  readonly message?: string;
}

/** The event of a name. */
export type EventOf<E extends EventName> = RollcallEvent & { readonly type: E };
