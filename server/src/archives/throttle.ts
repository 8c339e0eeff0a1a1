import { setTimeout } from "node:timers/promises";

/**
 * The length of a work period in ms. Some schedulers let other processes wait for it, because low-priority work still
 * finishes its time slice.
 */
const turnMs = 2;
const restMsMax = 1_000;

/**
 * Limits background work to half of the time: after each short work period, it pauses for as long as the work took.
 */
export class Throttle {
  #since = performance.now();

  isOver(): boolean {
    return performance.now() - this.#since >= turnMs;
  }

  /** Pauses at the end of a work period; before that, returns immediately. */
  async rest(): Promise<void> {
    if (!this.isOver()) return;
    await setTimeout(Math.min(performance.now() - this.#since, restMsMax));
    this.#since = performance.now();
  }
}
