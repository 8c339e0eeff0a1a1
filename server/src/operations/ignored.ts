import type { Route } from "../contract/route.ts";
import { fieldsOf } from "../lib/fields.ts";

/** The header with the names of unknown parameters, by which developers notice misspelt ones. */
export const ignoredHeader = "Rollcall-Ignored";

/** Names that client libraries add to every call, and names in URLs of the service. */
const expectedNames = [
  ...["location", "readPermissions", "writePermissions"],
  ...["accessToken", "application", "expires", "signature"],
];

const namesMax = 10;
/** In characters, of which percent-encoding may expand each to twelve bytes. */
const nameCharactersMax = 24;

/**
 * Returns a function that selects the unknown names of a call to report, at most ten, truncated. Fields of the
 * operation's result are omitted, because clients send back objects that they have read.
 */
export function createIgnoredNames({
  result,
}: Pick<Route, "result">): (unread: readonly string[]) => readonly string[] {
  const fields = Object.keys(fieldsOf(result["properties"]));
  const expected = new Set([...expectedNames, ...fields].map((name) => name.toLowerCase()));
  return (unread) => boundNames(unread, (name) => !expected.has(name.toLowerCase()));
}

/** Selects distinct names, at most ten, truncated. */
export function boundNames(all: Iterable<string>, isShown: (name: string) => boolean = () => true): string[] {
  const names = new Set<string>();
  for (const name of all) {
    if (names.size === namesMax) break;
    if (isShown(name)) names.add([...name].slice(0, nameCharactersMax).join("").toWellFormed());
  }
  return [...names];
}

/** Returns the value of the header, percent-encoding characters that a header cannot contain. */
export function ignoredHeaderOf(names: readonly string[]): string {
  return names.map(encodeURIComponent).join(", ");
}
