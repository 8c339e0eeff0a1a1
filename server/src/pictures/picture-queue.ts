import { ApiError } from "../errors.ts";
import { runAsPart } from "../lib/current-call.ts";

interface Waiting {
  readonly isWanted: () => boolean;
  begin(): void;
  drop(error: ApiError): void;
}

/** More are turned away at once; each that waits holds nothing but its place and an open file. */
const waitingMax = 32;

export interface PictureQueue {
  /** Runs a job when its turn comes, unless nobody wants it any more by then. */
  enqueue<T>(job: () => Promise<T>, isWanted?: () => boolean): Promise<T>;
  readonly waitingCount: number;
  readonly isRunning: boolean;
}

/**
 * Runs one job after the other, in the order in which they come: decoding takes a processor and memory, whatever the number
 * of callers. `enqueue` throws ApiError ServiceUnavailable at once when too many already wait, and for a job that nobody
 * wants any more.
 */
export function createPictureQueue(): PictureQueue {
  const waiting: Waiting[] = [];
  let isRunning = false;

  /** Else who asks and goes away keeps the places from who stays. */
  function dropUnwanted(): void {
    for (const each of waiting.splice(0)) {
      if (each.isWanted()) waiting.push(each);
      else each.drop(new ApiError("ServiceUnavailable", "Nobody waits for the picture any more."));
    }
  }

  async function enqueue<T>(job: () => Promise<T>, isWanted = () => true): Promise<T> {
    if (isRunning) {
      if (waiting.length >= waitingMax) dropUnwanted();
      if (waiting.length >= waitingMax) {
        throw new ApiError("ServiceUnavailable", "Too many pictures are waiting. Try again.");
      }
      // The one that ends hands its place over.
      await new Promise<void>((begin, drop) => waiting.push({ isWanted, begin, drop }));
    }
    isRunning = true;
    try {
      return await job();
    } finally {
      dropUnwanted();
      const next = waiting.shift();
      if (next === undefined) isRunning = false;
      else next.begin();
    }
  }

  return {
    enqueue: (job, isWanted) => runAsPart("decode picture", () => enqueue(job, isWanted)),
    get waitingCount() {
      return waiting.length;
    },
    get isRunning() {
      return isRunning;
    },
  };
}
