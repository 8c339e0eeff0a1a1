import type { SentLocation } from "../lib/locations.ts";
import type { Schema } from "./schema.ts";

/** The id of a location that was sent in place of a point (spec/locations#ids-of-locations). */
export class LocationReference {
  readonly id: string;

  constructor(id: string) {
    this.id = id;
  }
}

/**
 * Finds a location, as this caller currently sees it.
 *
 * @param reader undefined for callers without a token of the application
 * @throws ApiError ItemDoesNotExist, also for callers that are not users: they read no locations
 */
export type FindLocation = (reader: Reader | undefined, id: string) => Promise<SentLocation>;

interface Reader {
  readonly applicationId: string;
  readonly userId: string | undefined;
}

/** Whether a parameter with this schema is a location, and may be a {@link LocationReference} once it is read. */
export function isLocationInput(schema: Schema): boolean {
  return schema["x-wire"] === "location";
}

/** Replaces references among parameters by the locations that they refer to: handlers receive points alone. */
export async function resolveLocations<Parameters extends object>(
  parameters: Parameters,
  reader: Reader | undefined,
  find: FindLocation,
): Promise<Parameters> {
  let resolved = parameters;
  for (const [name, value] of Object.entries(parameters)) {
    if (value instanceof LocationReference) resolved = { ...resolved, [name]: await find(reader, value.id) };
  }
  return resolved;
}
