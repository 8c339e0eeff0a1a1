import type { Clock } from "../lib/clock.ts";
import { observe } from "../lib/events.ts";

/** The part of a file that has been transferred, in bytes. */
export interface Progress {
  readonly done: number;
  /** Undefined if the service does not report it. */
  readonly total: number | undefined;
}

const intervalMs = 100;

/** Reports at most ten times a second, and never a smaller number than before. */
export function reportProgress(
  listener: ((progress: Progress) => void) | undefined,
  total: number | undefined,
  clock: Clock,
): (done: number) => void {
  let reported = -1;
  let next = 0;
  return (done) => {
    if (done <= reported || (done !== total && clock.now() < next)) return;
    reported = done;
    next = clock.now() + intervalMs;
    observe(() => listener?.({ done, total }));
  };
}
