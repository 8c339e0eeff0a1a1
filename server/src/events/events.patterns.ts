import { clientEventTypes, matchTypes } from "../event-log/event-types.ts";
import { ApiError } from "../lib/errors.ts";
import { LruMap } from "../lib/lru-map.ts";

const patternsMax = 20;
/** Cached, because streams of one application mostly request the same types. */
const ofClients = new LruMap<string, (type: string) => boolean>(1_000);

/** Reads `types` of a client. @see readPatterns */
export function readClientPatterns(types = "*"): (type: string) => boolean {
  const found = ofClients.get(types);
  if (found !== undefined) return found;
  const isWanted = readPatterns(types);
  ofClients.set(types, isWanted);
  return isWanted;
}

/**
 * Reads `types`: types, `<kind>.*` or `*`, in any case.
 *
 * @param known the types that the reader may request
 * @returns whether a type is wanted
 * @throws ApiError ParameterIncorrectFormat
 */
export function readPatterns(
  types = "*",
  known: readonly string[] = clientEventTypes,
  parameter = "types",
): (type: string) => boolean {
  const patterns = types.split(",");
  if (patterns.length > patternsMax) throw refusal(parameter, `may have ${patternsMax} patterns`);
  const wanted = new Set<string>();
  for (const pattern of patterns) {
    const matching = matchTypes(pattern, known);
    if (matching.length === 0) throw refusal(parameter, "must be types such as checkin.created, checkin.* or *");
    for (const type of matching) wanted.add(type);
  }
  return (type) => wanted.has(type);
}

function refusal(parameter: string, rule: string): ApiError {
  return new ApiError("ParameterIncorrectFormat", `${parameter} ${rule}.`, { parameter });
}
