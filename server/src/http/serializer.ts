import fastJson from "fast-json-stringify";
import type { TSchema } from "typebox";

/**
 * Writes results as JSON by their schema: properties that it does not declare are left out, a missing required one
 * throws. Compiled at first use, so that start-up does not pay for operations that nobody calls.
 */
export function createSerializer(schema: TSchema): (result: unknown) => string {
  let write: ((result: unknown) => string) | undefined;
  return (result) => {
    write ??= fastJson(schema);
    return write(result);
  };
}
