import { setTimeout } from "node:timers/promises";

/** In milliseconds. Some schedulers let who has a processor end its slice, however low its priority: who waits, waits for this. */
const turnMs = 2;
const restMsMax = 1_000;

/** Leaves disk and processors to others half of the time: after each short turn of work, for as long as it took. */
export class Pace {
  #since = performance.now();

  isOver(): boolean {
    return performance.now() - this.#since >= turnMs;
  }

  /** At the end of a turn; before, it returns at once. */
  async rest(): Promise<void> {
    if (!this.isOver()) return;
    await setTimeout(Math.min(performance.now() - this.#since, restMsMax));
    this.#since = performance.now();
  }
}
