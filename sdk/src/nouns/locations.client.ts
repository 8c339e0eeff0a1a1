import {
  changeLocation,
  createLocation,
  deleteLocation,
  flagLocation,
  getLocation,
  searchLocations,
} from "../generated/calls.ts";
import type {
  ChangeLocationRequest,
  CreateLocationRequest,
  FlagLocationRequest,
  Location,
  SearchLocationsQuery,
} from "../generated/types.ts";
import type { CallOptions } from "../transport/options.ts";
import { createOwnedNoun, type OwnedNoun } from "./owned.ts";
import type { Send } from "./send.ts";

/** Described places, which users share. */
export interface LocationsNoun extends OwnedNoun<Location, ChangeLocationRequest, SearchLocationsQuery> {
  create(fields: CreateLocationRequest, options?: CallOptions): Promise<Location>;
  /** Reports a location to the operators. */
  flag(id: string, fields: FlagLocationRequest, options?: CallOptions): Promise<void>;
}

export function createLocationsNoun(send: Send): LocationsNoun {
  return {
    create: (fields, options) => send(createLocation(fields), options),
    ...createOwnedNoun(send, {
      get: getLocation,
      search: searchLocations,
      change: changeLocation,
      remove: deleteLocation,
    }),
    flag: (id, fields, options) => send(flagLocation(id, fields), options),
  };
}
