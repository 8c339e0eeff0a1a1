import { setTimeout } from "node:timers/promises";

/**
 * In milliseconds. With some schedulers this is how long a waiting process waits, because low-priority work still
 * finishes its time slice.
 */
const turnMs = 2;
const restMsMax = 1_000;

/**
 * Leaves disk and processors to others half of the time: rests after each short turn of work for as long as the turn
 * took.
 */
export class Throttle {
  #since = performance.now();

  isOver(): boolean {
    return performance.now() - this.#since >= turnMs;
  }

  /** Rests at the end of a turn; before that, returns at once. */
  async rest(): Promise<void> {
    if (!this.isOver()) return;
    await setTimeout(Math.min(performance.now() - this.#since, restMsMax));
    this.#since = performance.now();
  }
}
