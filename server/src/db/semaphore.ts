import { ApiError } from "../lib/errors.ts";

/** @returns a function that releases the slot */
export type Acquire = () => Promise<() => void>;

/** Creates a semaphore that refuses a caller with ServiceUnavailable after it has waited `timeoutMs` for a slot. */
export function createSemaphore(slotsMax: number, timeoutMs: number): Acquire {
  const waiting = new Set<() => void>();
  let taken = 0;

  function release(): void {
    const [next] = waiting;
    if (next === undefined) {
      taken -= 1;
    } else {
      waiting.delete(next); // it takes over this slot
      next();
    }
  }

  return async () => {
    if (taken < slotsMax) {
      taken += 1;
      return release;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = setTimeout(() => {
      waiting.delete(resolve);
      reject(new ApiError("ServiceUnavailable", "The database is too busy. Try again."));
    }, timeoutMs);
    waiting.add(resolve);
    await promise.finally(() => clearTimeout(timer));
    return release;
  };
}
