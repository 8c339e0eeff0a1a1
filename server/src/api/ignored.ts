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
 * Formats the header value from the unknown parameter names of a call; returns undefined when no header is needed.
 * Fields of the operation's own result are not reported, because clients send back objects that they have read.
 */
export function createIgnoredNames({
  result,
}: Pick<Route, "result">): (unread: readonly string[]) => string | undefined {
  const fields = Object.keys(fieldsOf(result["properties"]));
  const expected = new Set([...expectedNames, ...fields].map((name) => name.toLowerCase()));
  return (unread) => {
    const names = new Set<string>();
    for (const name of unread) {
      if (names.size === namesMax) break;
      if (!expected.has(name.toLowerCase())) names.add(printable(name));
    }
    return names.size === 0 ? undefined : [...names].join(", ");
  };
}

/** Percent-encodes all characters of a name that a header cannot contain. */
function printable(name: string): string {
  const short = [...name].slice(0, nameCharactersMax).join("");
  return encodeURIComponent(short.toWellFormed());
}
