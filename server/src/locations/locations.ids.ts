import type { FindLocation } from "../contract/sent-locations.ts";
import type { Database } from "../db/database.ts";
import type { LocationRow } from "../db/tables.ts";
import { ApiError } from "../lib/errors.ts";
import { getReadable } from "../owned/store.ts";
import { presentLocation } from "./locations.contract.ts";

/** Finds the locations whose ids are sent instead of a point (spec/locations#ids-of-locations). */
export function createLocationFinder({ database }: { readonly database: Database }): FindLocation {
  return async (reader, id) => {
    if (reader?.userId === undefined) throw new ApiError("ItemDoesNotExist");
    const { applicationId, userId } = reader;
    const row = await getReadable<LocationRow>("locations", applicationId, userId, id, database.reads);
    return { ...presentLocation(row, userId).location, place: { id, name: row.name } };
  };
}
