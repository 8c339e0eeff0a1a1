import { createHash } from "node:crypto";
import type { Call, StoredUpload } from "../contract/call.ts";
import type { Route } from "../contract/route.ts";
import { ApiError } from "../lib/errors.ts";

/** Identifies a call: equal for the same operation and parameters, in any order, inside or outside of a batch. */
export function fingerprintOf(route: Route, call: Call, file?: StoredUpload): string {
  const asked = [
    route.operation,
    call.path,
    parametersOf(call, route.sendingTime),
    ...(file === undefined ? [] : [file.digest]),
  ];
  let text: string;
  try {
    text = JSON.stringify(asked, writeNumber);
  } catch (cause) {
    throw new ApiError("ParameterIncorrectFormat", "The parameters are nested too deep.", { cause });
  }
  return createHash("sha256").update(text).digest("base64url");
}

/** @param left the name of a parameter that is left out */
function parametersOf(call: Call, left: string | undefined): unknown {
  try {
    const read = [...call.readParameters()];
    const parameters = left === undefined ? read : read.filter(([name]) => name.toLowerCase() !== left.toLowerCase());
    return parameters.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  } catch (error) {
    return String(error); // an invalid value, which is refused in any case
  }
}

/**
 * Encodes bigints and infinite numbers, which JSON lacks, as texts. A text that looks like an encoded one gets another
 * letter, so that the encoding stays unique.
 */
function writeNumber(_name: string, value: unknown): unknown {
  if (typeof value === "bigint" || value === Infinity || value === -Infinity) return `${value}n`;
  return typeof value === "string" && /^-?(\d+|Infinity)n+$/.test(value) ? `${value}n` : value;
}
