import { changeCheckin, createCheckin, deleteCheckin, getCheckin, searchCheckins } from "../generated/calls.ts";
import type { ChangeCheckinRequest, Checkin, CreateCheckinRequest, SearchCheckinsQuery } from "../generated/types.ts";
import type { CallOptions } from "../transport/options.ts";
import { createOwnedNoun, type OwnedNoun } from "./owned.ts";
import type { Send } from "./send.ts";

/** Check-ins: where a user is, at a time. */
export interface CheckinsNoun extends OwnedNoun<Checkin, ChangeCheckinRequest, SearchCheckinsQuery> {
  create(fields: CreateCheckinRequest, options?: CallOptions): Promise<Checkin>;
}

export function createCheckinsNoun(send: Send): CheckinsNoun {
  return {
    create: (fields, options) => send(createCheckin(fields), options),
    ...createOwnedNoun(send, { get: getCheckin, search: searchCheckins, change: changeCheckin, remove: deleteCheckin }),
  };
}
