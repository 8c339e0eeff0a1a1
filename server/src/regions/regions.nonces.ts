/** Remembers which calls were here, for as long as they could come again. */
export interface Nonces {
  /** @returns false when it was taken before */
  take(nonce: string, now: number): boolean;
}

/** Some 100 bytes each; past it the oldest could come again, and whatever regions ask for does no harm twice. */
const noncesMax = 250_000;

/** @param ageMsMax how far from the present the time of a call may lie, in both directions */
export function createNonces(ageMsMax: number): Nonces {
  const keptMs = 2 * ageMsMax;
  let [older, newer] = [new Set<string>(), new Set<string>()];
  let turnedAt = 0;
  return {
    take(nonce, now) {
      if (older.has(nonce) || newer.has(nonce)) return false;
      if (now - turnedAt > keptMs || now < turnedAt || newer.size >= noncesMax / 2) {
        [older, newer] = [newer, new Set()];
        turnedAt = now;
      }
      newer.add(nonce);
      return true;
    },
  };
}
