import { setImmediate } from "node:timers/promises";

/** Yields to the event loop when it has been held for some milliseconds. Long work must await this often. */
export function createYield(heldMsMax = 4): () => Promise<void> | undefined {
  let since = performance.now();
  return () => {
    if (performance.now() - since < heldMsMax) return undefined;
    return setImmediate().then(() => {
      since = performance.now();
    });
  };
}
