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
 * Finds a location as this caller currently sees it.
 *
 * @param reader undefined for callers without a token of the application
 * @throws ApiError ItemDoesNotExist, always for callers that are not users, who cannot read locations
 */
export type FindLocation = (reader: Reader | undefined, id: string) => Promise<SentLocation>;

interface Reader {
  readonly applicationId: string;
  readonly userId: string | undefined;
}

/** Whether a parameter with this schema is a location, which the reader may return as a {@link LocationReference}. */
export function isLocationInput(schema: Schema): boolean {
  return schema["x-wire"] === "location";
}

/** Replaces references in parameters by their locations, so that handlers receive only points. */
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
