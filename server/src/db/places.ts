import { ApiError } from "../errors.ts";

/** @returns gives the place back */
export type TakePlace = () => Promise<() => void>;

/** Places for so many at once; who waits too long for one is refused. */
export function createPlaces(placesMax: number, timeoutMs: number): TakePlace {
  const waiting = new Set<() => void>();
  let taken = 0;

  function leave(): void {
    const [next] = waiting;
    if (next === undefined) {
      taken -= 1;
    } else {
      waiting.delete(next); // it has this place now
      next();
    }
  }

  return async () => {
    if (taken < placesMax) {
      taken += 1;
      return leave;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = setTimeout(() => {
      waiting.delete(resolve);
      reject(new ApiError("ServiceUnavailable", "The database is too busy. Try again."));
    }, timeoutMs);
    waiting.add(resolve);
    await promise.finally(() => clearTimeout(timer));
    return leave;
  };
}
