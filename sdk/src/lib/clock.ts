/** Time and randomness; tests replace them. */
export interface Clock {
  /** Milliseconds since 1970-01-01 UTC. */
  now(): number;
  /** A number from 0 up to but not including 1. */
  random(): number;
  /**
   * Runs a function later. A process of Node.js does not wait for background work.
   * @returns a function that cancels it
   */
  after(ms: number, run: () => void, priority?: "background"): () => void;
}

/** The maximum delay of a timer; with a longer delay it would fire immediately. */
const delayMsMax = 2_147_483_647;

export const systemClock: Clock = {
  now: () => Date.now(),
  random: () => Math.random(),
  after(ms, run, priority) {
    const timer: unknown = setTimeout(run, Math.min(ms, delayMsMax));
    if (priority === "background") detach(timer);
    return () => clearTimeout(timer as number);
  },
};

/** Lets the process exit while a timer or handle is open, in Node.js, Deno and Bun. */
export function detach(resource: unknown): void {
  (resource as { unref?(): void }).unref?.();
}
