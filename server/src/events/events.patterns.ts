import { ApiError } from "../errors.ts";
import { clientEventTypes } from "../event-log/event-types.ts";
import { matchTypes } from "../event-log/type-patterns.ts";

const patternsMax = 20;

/**
 * Reads `types`: types, `<kind>.*` or `*`, in any case.
 *
 * @param known the types that the reader may ask for
 * @returns whether a type is wanted
 * @throws ApiError ParameterIncorrectFormat
 */
export function readPatterns(types = "*", known: readonly string[] = clientEventTypes): (type: string) => boolean {
  const patterns = types.split(",");
  if (patterns.length > patternsMax) throw refusal(`types may have ${patternsMax} patterns.`);
  const wanted = new Set<string>();
  for (const pattern of patterns) {
    const matching = matchTypes(pattern, known);
    if (matching.length === 0) throw refusal("types must be types such as checkin.created, checkin.* or *.");
    for (const type of matching) wanted.add(type);
  }
  return (type) => wanted.has(type);
}

function refusal(message: string): ApiError {
  return new ApiError("ParameterIncorrectFormat", message, { parameter: "types" });
}
