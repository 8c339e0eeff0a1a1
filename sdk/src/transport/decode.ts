import { dateMembers } from "../generated/dates.ts";

/** Values that belong to the app, and responses of a batch, each of which is decoded by itself. */
const untouched: ReadonlySet<string> = new Set(["value", "values", "details", "responses"]);
/** Repeats another member. */
const misspelt = "elaspedTimeInMs";

/** Converts a result of the wire: dates become `Date`, and `true`, which says no more than success, undefined. */
export function decodeResult(result: unknown): unknown {
  return result === true ? undefined : decode(result);
}

function decode(result: unknown): unknown {
  if (Array.isArray(result)) return result.map(decode);
  if (typeof result !== "object" || result === null) return result;
  const decoded: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(result)) {
    if (name === misspelt) continue;
    decoded[name] = untouched.has(name) ? value : (dateMembers.has(name) && readDate(value)) || decode(value);
  }
  return decoded;
}

function readDate(value: unknown): Date | undefined {
  const ms = typeof value === "string" && /^\/Date\((-?\d+)\)\/$/.exec(value)?.[1];
  return ms ? new Date(Number(ms)) : undefined;
}
