import { ApiError } from "../errors.ts";

/** Decoding takes a processor and memory: one picture at a time, whatever the number of callers. */
const atOnceMax = 1;

/** More are turned away at once; each that waits holds nothing but its place and an open file. */
const waitingMax = 32;

const waiting: (() => void)[] = [];
let running = 0;

/** Runs the job when it is its turn. @throws ApiError ServiceUnavailable at once when too many already wait */
export async function enqueuePicture<T>(job: () => Promise<T>): Promise<T> {
  if (running >= atOnceMax) {
    if (waiting.length >= waitingMax) {
      throw new ApiError("ServiceUnavailable", "Too many pictures are waiting. Try again.");
    }
    await new Promise<void>((resolve) => waiting.push(resolve)); // the one that ends hands its place over
  } else {
    running += 1;
  }
  try {
    return await job();
  } finally {
    const next = waiting.shift();
    if (next === undefined) running -= 1;
    else next();
  }
}
