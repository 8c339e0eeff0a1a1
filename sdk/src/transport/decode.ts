import { dateMembers } from "../generated/dates.ts";

/** Values that belong to the app, and responses of a batch, each of which is decoded by itself. */
const untouched: ReadonlySet<string> = new Set(["value", "values", "details", "responses"]);
/** Repeats another member. */
const misspelt = "elaspedTimeInMs";

/** Converts a result of the wire: dates become `Date`, and `true`, which says no more than success, undefined. */
export function decodeResult(result: unknown): unknown {
  return result === true ? undefined : decode(result);
}

/** Changes what JSON.parse has made. */
function decode(result: unknown): unknown {
  if (typeof result !== "object" || result === null) return result;
  if (Array.isArray(result)) {
    for (const item of result) decode(item);
    return result;
  }
  const members = result as Record<string, unknown>;
  for (const name in members) {
    const value = members[name];
    if (typeof value === "string") {
      if (dateMembers.has(name)) members[name] = readDate(value) ?? value;
    } else if (!untouched.has(name)) decode(value);
  }
  if (misspelt in members) delete members[misspelt];
  return result;
}

function readDate(text: string): Date | undefined {
  const ms = /^\/Date\((-?\d+)\)\/$/.exec(text)?.[1];
  return ms === undefined ? undefined : new Date(Number(ms));
}
