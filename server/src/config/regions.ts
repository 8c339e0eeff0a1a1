import { checked, list, type Reader, secretCharactersMin, secretRule, text } from "./reader.ts";
import { isRegionKey, parseRegionKey } from "./region-keys.ts";
import { isRootUrl } from "./urls.ts";

/** The region that clients call first, with the directory of the applications' regions. */
export const mainRegion = "main";

export const regionName = checked(text, isRegionName, "must be 1 to 32 of a-z, 0-9 and -");

function isRegionName(given: string): boolean {
  return /^[a-z0-9-]{1,32}$/.test(given);
}

/** Reads the root URLs of regions, without a trailing slash, by name. */
export const regions: Reader<ReadonlyMap<string, string>> = (given) => new Map(regionEntries(given));

const regionEntries = checked(
  (given: string) => list(given).map(readRegion),
  (entries) =>
    new Map(entries).size === entries.length && entries.every(([name, root]) => isRegionName(name) && isRootUrl(root)),
  "must be name=root pairs separated by commas, each name once, each root an http(s) URL of a host and perhaps a path",
);

/** Parses `eu=https://eu.example.org/`, and removes the trailing slash. */
function readRegion(entry: string): readonly [name: string, root: string] {
  const [name = "", ...root] = entry.split("=");
  return [name.trim(), root.join("=").trim().replace(/\/+$/, "")];
}

export const regionSecrets = checked(
  list,
  (secrets) => secrets.every((secret) => isRegionKey(secret) || secret.length >= secretCharactersMin),
  secretRule,
);

/** Returns the other region of each key; undefined for a malformed key. */
export function keyedRegions(secrets: readonly string[]): readonly (string | undefined)[] {
  return secrets.filter(isRegionKey).map((entry) => parseRegionKey(entry)?.region);
}
