/**
 * Compares two versions of an app by their numbers, part by part; a missing part counts as 0.
 *
 * @returns below 0 if the first is older, 0 if they are equal, undefined if one has no numbers
 */
export function compareVersions(one: string, other: string): number | undefined {
  const [left, right] = [numbersOf(one), numbersOf(other)];
  if (left.length === 0 || right.length === 0) return undefined;
  for (let part = 0; part < Math.max(left.length, right.length); part += 1) {
    const [a, b] = [left[part] ?? 0n, right[part] ?? 0n];
    if (a !== b) return a < b ? -1 : 1;
  }
  return 0;
}

function numbersOf(version: string): bigint[] {
  return [...version.matchAll(/\d+/g)].map(([digits]) => BigInt(digits));
}
