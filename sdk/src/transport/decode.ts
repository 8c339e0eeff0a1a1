import { dateMembers } from "../generated/dates.ts";

/** Values that belong to the app, and responses of a batch, each of which is decoded separately. */
const untouched: ReadonlySet<string> = /* @__PURE__ */ new Set(["value", "values", "details", "responses"]);
/** Repeats another member. */
const misspelt = "elaspedTimeInMs";

/**
 * Converts a result of the wire: dates become `Date`, and `true`, which only means success, becomes undefined.
 *
 * @param moreDates the members that are dates beside those of the application API
 */
export function decodeResult(result: unknown, moreDates?: ReadonlySet<string>): unknown {
  if (typeof result === "object") decode(result as Record<string, unknown>, moreDates);
  return result === true ? undefined : result;
}

/** Changes what JSON.parse has made: an object, an array or null. */
function decode(members: Record<string, unknown>, moreDates: ReadonlySet<string> | undefined): void {
  for (const name in members) {
    const value = members[name];
    if (typeof value === "object") {
      if (!untouched.has(name)) decode(value as Record<string, unknown>, moreDates);
    } else if (name === misspelt) delete members[name];
    else if (typeof value === "string" && (dateMembers.has(name) || moreDates?.has(name)))
      members[name] = readDate(value);
  }
}

/** Also dates of results that were stored as JSON. */
function readDate(text: string): Date | string {
  if (text.startsWith("/Date(")) return new Date(Number(text.slice(6, -2)));
  return /^\d{4}-.+Z$/.test(text) ? new Date(text) : text;
}
