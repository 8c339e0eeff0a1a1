import { ApiError } from "../errors.ts";

/** More are turned away at once; each that waits holds nothing but its place and an open file. */
const waitingMax = 32;

/**
 * Runs one job after the other, in the order in which they come: decoding takes a processor and memory, whatever the number
 * of callers. What it returns throws ApiError ServiceUnavailable at once when too many already wait.
 */
export function createPictureQueue(): <T>(job: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let isRunning = false;
  return async (job) => {
    if (isRunning) {
      if (waiting.length >= waitingMax) {
        throw new ApiError("ServiceUnavailable", "Too many pictures are waiting. Try again.");
      }
      await new Promise<void>((resolve) => waiting.push(resolve)); // the one that ends hands its place over
    }
    isRunning = true;
    try {
      return await job();
    } finally {
      const next = waiting.shift();
      if (next === undefined) isRunning = false;
      else next();
    }
  };
}
