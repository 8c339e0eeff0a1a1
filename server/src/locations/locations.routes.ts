import { ownedCreation, ownedOperations } from "../owned/operations.ts";
import { locationContract, locationKind, presentLocation, readPublic } from "./locations.contract.ts";

const create = ownedCreation(locationKind, {
  contract: locationContract,
  summary: "Create a location",
  description: "Creates a place that the user owns and may share.",
  present: presentLocation,
  readGiven: readPublic,
  complete: (_, { name }) => ({ name }), // an empty name is stored, too
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
export const locationOperations = [create, search, get, change, remove];
