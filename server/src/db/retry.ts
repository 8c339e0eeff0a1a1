import { setTimeout } from "node:timers/promises";
import { isUndone } from "./dialect.ts";

/** Conflicts or failures that outlast this many tries are permanent. */
const triesMax = 6;
const waitMsMin = 10;

/**
 * Runs a transaction again if it was rolled back by a conflict, or its connection broke before the commit was sent.
 * Waits a random time, so that colliding transactions do not collide again.
 *
 * @param timeoutMs no retry starts after this time
 */
export async function retryUntilSuccess<T>(run: () => Promise<T>, timeoutMs: number): Promise<T> {
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
