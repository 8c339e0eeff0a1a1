import { listEvents } from "../generated/calls.ts";
import type { EventPage, ListEventsQuery } from "../generated/types.ts";
import type { CallOptions } from "../transport/options.ts";
import type { Send } from "./send.ts";

/** Changes, for apps that synchronize a local copy. */
export interface ChangesNoun {
  /**
   * Returns the events after `after`, the `currentToken` of an earlier call; without `after`, only the current token. If
   * the result has `isReset`, events were missed: read all data again.
   */
  list(query?: ListEventsQuery, options?: CallOptions): Promise<EventPage>;
}

export function createChangesNoun(send: Send): ChangesNoun {
  return { list: (query, options) => send(listEvents(query), options) };
}
