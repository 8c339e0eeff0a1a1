import { listEvents } from "../generated/calls.ts";
import type { EventPage, ListEventsQuery } from "../generated/types.ts";
import type { CallOptions } from "../transport/options.ts";
import type { Send } from "./send.ts";

/** Changes, for apps that keep a copy. */
export interface ChangesNoun {
  /**
   * The events after `after`, the `currentToken` of an earlier call; without it no events, but the current token. If
   * the result has `isReset`, events are missing: read everything again.
   */
  list(query?: ListEventsQuery, options?: CallOptions): Promise<EventPage>;
}

export function createChangesNoun(send: Send): ChangesNoun {
  return { list: (query, options) => send(listEvents(query), options) };
}
