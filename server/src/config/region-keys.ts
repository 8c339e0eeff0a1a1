import { hkdfSync } from "node:crypto";

/**
 * Pairwise keys of regions, derived from the secret that all regions may share. A region signs its calls to another
 * region with the key of the pair. A region that has only its keys, instead of the secret, cannot impersonate other
 * regions.
 */

/** The form of a key in REGION_SECRET; other entries are shared secrets. */
const keyPattern = /^key:([a-z0-9-]{1,32}):([A-Za-z0-9_-]{43})$/;

/** Whether an entry of REGION_SECRET is a pairwise key. */
export function isRegionKey(entry: string): boolean {
  return entry.startsWith("key:");
}

/** @returns the other region of the pair and the key; undefined if the entry is not a key */
export function parseRegionKey(entry: string): { readonly region: string; readonly key: string } | undefined {
  const [, region, key] = keyPattern.exec(entry) ?? [];
  return region === undefined || key === undefined ? undefined : { region, key };
}

/** Derives the REGION_SECRET entries of a region from the shared secrets, in the same order, for rotation. */
export function keysOfRegion(region: string, others: readonly string[], secrets: readonly string[]): string[] {
  return secrets.flatMap((secret) => others.map((other) => `key:${other}:${deriveKey(secret, region, other)}`));
}

/**
 * Returns the keys of a pair of regions from REGION_SECRET, newest first.
 *
 * @param own the region with this REGION_SECRET: its keys name only the other region
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

/** Symmetric: both orders of the regions have the same key. */
function deriveKey(secret: string, one: string, other: string): string {
  const info = `key between the regions ${[one, other].sort().join(" and ")}`;
  return Buffer.from(hkdfSync("sha256", secret, "rollcall", info, 32)).toString("base64url");
}
