import { randomFillSync } from "node:crypto";

// Random bytes are read from the kernel in blocks: one system call is enough for hundreds of ids and tokens.
const pool = Buffer.alloc(4096);
let used = pool.length;

/** Returns unused random bytes for secrets and ids. @param count at most 4,096 */
export function takeRandomBytes(count: number): Buffer {
  if (used + count > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const taken = Buffer.from(pool.subarray(used, used + count)); // a copy, because the pool is refilled
  used += count;
  return taken;
}

/** Returns a random number from `from` to below `to`. As a waiting time, it spreads the reconnects of clients. */
export function between(from: number, to: number): number {
  return from + Math.random() * (to - from);
}
