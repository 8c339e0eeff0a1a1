import { flagLocation } from "../generated/calls.ts";
import type {
  ChangeLocationRequest,
  CreateLocationRequest,
  FlagLocationRequest,
  Location,
  SearchLocationsQuery,
} from "../generated/types.ts";
import type { CallOptions } from "../transport/options.ts";
import { createOwnedNoun, type OwnedCalls, type OwnedNoun, ownedCalls } from "./owned.ts";
import type { Send } from "./send.ts";

/** Places with a description, which users can share. */
export interface LocationsNoun extends OwnedNoun<Location, ChangeLocationRequest, SearchLocationsQuery> {
  create(fields: CreateLocationRequest, options?: CallOptions): Promise<Location>;
  /** Reports a location to the operators. */
  flag(id: string, fields: FlagLocationRequest, options?: CallOptions): Promise<void>;
}

const calls: OwnedCalls<Location, CreateLocationRequest, ChangeLocationRequest, SearchLocationsQuery> =
  /* @__PURE__ */ ownedCalls("Location");

export function createLocationsNoun(send: Send): LocationsNoun {
  return {
    ...createOwnedNoun(send, calls),
    flag: (id, fields, options) => send(flagLocation(id, fields), options),
  };
}
