import { dateMembers } from "../generated/dates.ts";

/** Values that belong to the app, and responses of a batch, each of which is decoded separately. */
const untouched: ReadonlySet<string> = /* @__PURE__ */ new Set(["value", "values", "details", "responses"]);
/** Repeats another member. */
const misspelt = "elaspedTimeInMs";

/**
 * Converts a result of the wire: dates become `Date`, and `true`, which only means success, becomes undefined.
 *
 * @param moreDates the members that are dates in addition to those of the application API
 */
export function decodeResult(result: unknown, moreDates?: ReadonlySet<string>): unknown {
  decode(result, moreDates);
  return result === true ? undefined : result;
}

/** Changes what JSON.parse has made. */
function decode(result: unknown, moreDates: ReadonlySet<string> | undefined): void {
  if (Array.isArray(result)) for (const item of result) decode(item, moreDates);
  else if (typeof result === "object") {
    const members = result as Record<string, unknown>;
    for (const name in members) {
      const value = members[name];
      if (typeof value !== "string") {
        if (name === misspelt) delete members[name];
        else if (!untouched.has(name)) decode(value, moreDates);
      } else if (dateMembers.has(name) || moreDates?.has(name)) members[name] = readDate(value);
    }
  }
}

/** Also dates of results that were stored as JSON. */
function readDate(text: string): Date | string {
  if (text.startsWith("/Date(")) return new Date(Number(text.slice(6, -2)));
  return /^\d{4}-.+Z$/.test(text) ? new Date(text) : text;
}
