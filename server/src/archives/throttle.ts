import { setTimeout } from "node:timers/promises";

/**
 * In milliseconds. With some schedulers this is how long a waiting process waits, because low-priority work still
 * finishes its time slice.
 */
const turnMs = 2;
const restMsMax = 1_000;

/**
 * Uses disk and processors at most half of the time: after each short period of work, pauses for as long as the work
 * took.
 */
export class Throttle {
  #since = performance.now();

  isOver(): boolean {
    return performance.now() - this.#since >= turnMs;
  }

  /** Pauses at the end of a work period; before that, returns at once. */
  async rest(): Promise<void> {
    if (!this.isOver()) return;
    await setTimeout(Math.min(performance.now() - this.#since, restMsMax));
    this.#since = performance.now();
  }
}
