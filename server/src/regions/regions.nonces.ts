/** Remembers the nonces of calls for as long as a call could be replayed. */
export interface Nonces {
  /** @returns false if the nonce was used before */
  take(nonce: string, now: number): boolean;
}

/**
 * Some 100 bytes each. Beyond this the oldest could be replayed, which is harmless, because calls can be repeated
 * safely.
 */
const noncesMax = 250_000;

/** @param ageMsMax the maximum difference between the time of a call and now, in both directions */
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
