import type { LocationRow } from "../db/tables.ts";
import { operation } from "../operations/operation.ts";
import { createOwned, newColumns } from "../owned/changes.ts";
import { columnsOf } from "../owned/fields.ts";
import { ownedOperations } from "../owned/operations.ts";
import {
  CreateLocation,
  Location,
  locationContract,
  locationKind,
  noFields,
  presentLocation,
  readPublic,
} from "./locations.contract.ts";

const createLocation = operation({
  method: "POST",
  path: "/locations",
  operation: "createLocation",
  summary: "Create a location",
  description: "Creates a place that the user owns and may share.",
  tag: "Locations",
  caller: "user",
  parameters: CreateLocation,
  status: 201,
  result: Location,
  errors: [],
  async handle({ caller, parameters }, { database, fuzzing, clock, ids, events }) {
    const { applicationId, userId } = caller;
    const { name, location } = parameters;
    const columns = newColumns(caller, ids.newId("Location"), readPublic(parameters), clock);
    const created = await database.write(
      async ({ queries }) => {
        const placing = { applicationId, userId, setterId: userId, location };
        const own = { ...noFields, ...columnsOf(locationKind.fields, parameters), name };
        const row: LocationRow = { ...columns, ...own, ...(await fuzzing.locate(placing, queries)) };
        await createOwned("locations", row, events, queries);
        return row;
      },
      { addsTo: applicationId },
    );
    return presentLocation(created, userId);
  },
});

const { search, get, change, remove } = ownedOperations(locationKind, {
  contract: locationContract,
  summaries: {
    get: "Read a location",
    change: "Change a location: the caller's own, or a shared one with write permission",
    remove: "Delete one's own location",
  },
  presenter:
    async (_, { userId }, __, range) =>
    (row) =>
      presentLocation(row, userId, range),
  readChange: readPublic,
});

/** Users create, find and change locations (spec/locations). */
export const locationOperations = [createLocation, search, get, change, remove];
