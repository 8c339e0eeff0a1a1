import { hkdfSync } from "node:crypto";

/**
 * Pairwise keys of regions, derived from the secret that all regions may share: a region signs and verifies its calls
 * to one other region with their common key. A region that has only its own keys, instead of the secret, cannot
 * impersonate other regions.
 */

/** The form of a key in REGION_SECRET, which contains shared secrets as they are. */
const keyPattern = /^key:([a-z0-9-]{1,32}):([A-Za-z0-9_-]{43})$/;

/** Whether an entry of REGION_SECRET is a pairwise key. */
export function isRegionKey(entry: string): boolean {
  return entry.startsWith("key:");
}

/** @returns the other region of the key, and the key; undefined when the entry is not a key */
export function parseRegionKey(entry: string): { readonly region: string; readonly key: string } | undefined {
  const [, region, key] = keyPattern.exec(entry) ?? [];
  return region === undefined || key === undefined ? undefined : { region, key };
}

/** Derives the REGION_SECRET entries of a region from the shared secrets, in the same order for rotation. */
export function keysOfRegion(region: string, others: readonly string[], secrets: readonly string[]): string[] {
  return secrets.flatMap((secret) => others.map((other) => `key:${other}:${deriveKey(secret, region, other)}`));
}

/**
 * The keys between two regions, newest first, as far as the entries contain them.
 *
 * @param own the region that the REGION_SECRET belongs to: its keys name only the other region
 */
export function keysBetween(
  [one, other]: readonly [string, string],
  own: string,
  entries: readonly string[],
): readonly string[] {
  return entries.flatMap((entry) => {
    if (!isRegionKey(entry)) return [deriveKey(entry, one, other)];
    const { region, key } = parseRegionKey(entry) ?? {};
    const isOfBoth = (one === own && other === region) || (other === own && one === region);
    return key !== undefined && isOfBoth ? [key] : [];
  });
}

/** Symmetric: the order of the two regions does not matter. */
function deriveKey(secret: string, one: string, other: string): string {
  const info = `key between the regions ${[one, other].sort().join(" and ")}`;
  return Buffer.from(hkdfSync("sha256", secret, "rollcall", info, 32)).toString("base64url");
}
