import { listEvents } from "../generated/calls.ts";
import type { EventPage, ListEventsQuery } from "../generated/types.ts";
import type { CallOptions } from "../transport/options.ts";
import type { Send } from "./send.ts";

/** What has changed, for apps that keep a copy. */
export interface ChangesNoun {
  /**
   * The events behind `after`, the `currentToken` of an earlier call; without it none, but the token of now. If the
   * result says `isReset`, events are missing: read everything again.
   */
  list(query?: ListEventsQuery, options?: CallOptions): Promise<EventPage>;
}

export function createChangesNoun(send: Send): ChangesNoun {
  return { list: (query, options) => send(listEvents(query), options) };
}
