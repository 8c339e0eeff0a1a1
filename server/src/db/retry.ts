import { setTimeout } from "node:timers/promises";
import { isUndone } from "./dialect.ts";

/** More often than this others are in the way for good, or the database is. */
const triesMax = 6;
const waitMsMin = 10;

/**
 * Runs a transaction again of which nothing has been kept, because others were in its way or its connection broke before
 * the commit was sent. Those that collided wait for times of different length.
 *
 * @param timeoutMs nothing is begun anew after so long
 */
export async function untilDone<T>(run: () => Promise<T>, timeoutMs: number): Promise<T> {
  const until = performance.now() + timeoutMs;
  for (let tries = 1; ; tries += 1) {
    try {
      return await run();
    } catch (error) {
      if (tries === triesMax || !isUndone(error) || performance.now() >= until) throw error;
    }
    await setTimeout(Math.random() * waitMsMin * 2 ** tries);
  }
}
