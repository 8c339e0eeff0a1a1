import { randomFillSync } from "node:crypto";

// Random bytes come from the kernel a page at a time: one system call for hundreds of ids and seals.
const pool = Buffer.alloc(4096);
let used = pool.length;

/** Random bytes for secrets and ids: fresh ones each time. @param count at most 4,096 */
export function takeRandomBytes(count: number): Buffer {
  if (used + count > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const taken = Buffer.from(pool.subarray(used, used + count)); // a copy: the pool is filled anew
  used += count;
  return taken;
}
