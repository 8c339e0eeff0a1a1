import type { ChangeCheckinRequest, Checkin, CreateCheckinRequest, SearchCheckinsQuery } from "../generated/types.ts";
import type { CallOptions } from "../transport/options.ts";
import { createOwnedNoun, type OwnedCalls, type OwnedNoun, ownedCalls } from "./owned.ts";
import type { Send } from "./send.ts";

/** Check-ins: the location of a user at a time. */
export interface CheckinsNoun extends OwnedNoun<Checkin, ChangeCheckinRequest, SearchCheckinsQuery> {
  create(fields: CreateCheckinRequest, options?: CallOptions): Promise<Checkin>;
}

const calls: OwnedCalls<Checkin, CreateCheckinRequest, ChangeCheckinRequest, SearchCheckinsQuery> =
  /* @__PURE__ */ ownedCalls("Checkin");

export function createCheckinsNoun(send: Send): CheckinsNoun {
  return createOwnedNoun(send, calls);
}
