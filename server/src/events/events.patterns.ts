import { clientEventTypes, matchTypes } from "../event-log/event-types.ts";
import { ApiError } from "../lib/errors.ts";
import { LruMap } from "../lib/lru-map.ts";

const patternsMax = 20;
/** A cache, because the streams of an application mostly request the same types. */
const clientPatterns = new LruMap<string, (type: string) => boolean>(1_000);

/** Reads `types` of a client. @see readPatterns */
export function readClientPatterns(types = "*"): (type: string) => boolean {
  const found = clientPatterns.get(types);
  if (found !== undefined) return found;
  const isWanted = readPatterns(types);
  clientPatterns.set(types, isWanted);
  return isWanted;
}

/**
 * Reads `types`: types, `<kind>.*` or `*`, case-insensitive.
 *
 * @param allowed the types that the reader may request
 * @returns whether a type matches
 * @throws ApiError ParameterIncorrectFormat
 */
export function readPatterns(
  types = "*",
  allowed: readonly string[] = clientEventTypes,
  parameter = "types",
): (type: string) => boolean {
  const patterns = types.split(",");
  if (patterns.length > patternsMax) throw refusal(parameter, `may have ${patternsMax} patterns`);
  const wanted = new Set<string>();
  for (const pattern of patterns) {
    const matching = matchTypes(pattern, allowed);
    if (matching.length === 0) throw refusal(parameter, "must be types such as checkin.created, checkin.* or *");
    for (const type of matching) wanted.add(type);
  }
  return (type) => wanted.has(type);
}

function refusal(parameter: string, rule: string): ApiError {
  return new ApiError("ParameterIncorrectFormat", `${parameter} ${rule}.`, { parameter });
}
