import { ApiError } from "../errors.ts";
import { runAsPart } from "../lib/current-call.ts";

/** More are turned away at once; each that waits holds nothing but its place and an open file. */
const waitingMax = 32;

export interface PictureQueue {
  enqueue<T>(job: () => Promise<T>): Promise<T>;
  readonly waitingCount: number;
  readonly isRunning: boolean;
}

/**
 * Runs one job after the other, in the order in which they come: decoding takes a processor and memory, whatever the number
 * of callers. `enqueue` throws ApiError ServiceUnavailable at once when too many already wait.
 */
export function createPictureQueue(): PictureQueue {
  const waiting: (() => void)[] = [];
  let isRunning = false;

  async function enqueue<T>(job: () => Promise<T>): Promise<T> {
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
  }

  return {
    enqueue: (job) => runAsPart("decode picture", () => enqueue(job)),
    get waitingCount() {
      return waiting.length;
    },
    get isRunning() {
      return isRunning;
    },
  };
}
