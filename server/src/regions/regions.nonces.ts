import type { Queries } from "../db/database.ts";
import type { LimitCounters } from "../limits/counters.ts";

/** Remembers the nonces of calls for as long as a call could be replayed. */
export interface Nonces {
  /** @returns false if the nonce was used before, with any process that shares its counters */
  take(nonce: string, now: number): Promise<boolean>;
}

/**
 * Some 100 bytes each. Beyond this the oldest could be replayed, which is harmless, because calls can be repeated
 * safely.
 */
const noncesMax = 250_000;

/** @param ageMsMax the maximum difference between the time of a call and now, in both directions */
export function createNonces(ageMsMax: number, { shared }: Pick<LimitCounters, "shared">): Nonces {
  const keptMs = 2 * ageMsMax;
  let [older, newer] = [new Set<string>(), new Set<string>()];
  let turnedAt = 0;
  function takeHere(nonce: string, now: number): boolean {
    if (older.has(nonce) || newer.has(nonce)) return false;
    if (now - turnedAt > keptMs || now < turnedAt || newer.size >= noncesMax / 2) {
      [older, newer] = [newer, new Set()];
      turnedAt = now;
    }
    newer.add(nonce);
    return true;
  }

  return {
    async take(nonce, now) {
      if (!takeHere(nonce, now)) return false;
      const key = shared?.keyOf(`call between regions ${nonce}`) ?? "";
      const isNew = await shared?.runPatiently(({ queries }) => insertNonce(key, now + keptMs, queries));
      return isNew ?? true; // this process alone decides while the database does not answer
    },
  };
}

/** @returns false if it is stored already */
async function insertNonce(nonce: string, ends_at: number, queries: Queries): Promise<boolean> {
  const inserted = await queries
    .insertInto("region_nonces")
    .values({ nonce, ends_at })
    .onConflict((conflict) => conflict.column("nonce").doNothing())
    .returning("nonce")
    .execute();
  return inserted.length > 0;
}
