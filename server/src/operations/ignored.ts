import type { Route } from "../contract/route.ts";
import { fieldsOf } from "../lib/fields.ts";

/** Lists the parameters that the operation does not know, so that developers notice misspelt ones. */
export const ignoredHeader = "Rollcall-Ignored";

/** Names that client libraries add to every call, and that the service itself puts into URLs. */
const expectedNames = [
  ...["location", "readPermissions", "writePermissions"],
  ...["accessToken", "application", "expires", "signature"],
];

const namesMax = 10;
/** In characters; percent-encoding may expand each to twelve bytes. */
const nameCharactersMax = 24;

/**
 * Selects the unknown parameter names of a call that developers should notice, at most ten, shortened. Fields of the operation's own result are not reported, because clients send back objects that they have read.
 */
export function createIgnoredNames({
  result,
}: Pick<Route, "result">): (unread: readonly string[]) => readonly string[] {
  const fields = Object.keys(fieldsOf(result["properties"]));
  const expected = new Set([...expectedNames, ...fields].map((name) => name.toLowerCase()));
  return (unread) => boundNames(unread, (name) => !expected.has(name.toLowerCase()));
}

/** Selects distinct names, at most ten, shortened. */
export function boundNames(all: Iterable<string>, isShown: (name: string) => boolean = () => true): string[] {
  const names = new Set<string>();
  for (const name of all) {
    if (names.size === namesMax) break;
    if (isShown(name)) names.add([...name].slice(0, nameCharactersMax).join("").toWellFormed());
  }
  return [...names];
}

/** The value of the header: all characters that it cannot contain are percent-encoded. */
export function ignoredHeaderOf(names: readonly string[]): string {
  return names.map(encodeURIComponent).join(", ");
}
