import { setImmediate } from "node:timers/promises";

/**
 * Returns a function that yields to the event loop after `heldMsMax` without a yield. Long work must await it often.
 */
export function createYield(heldMsMax = 4): () => Promise<void> | undefined {
  let since = performance.now();
  return () => {
    if (performance.now() - since < heldMsMax) return undefined;
    return setImmediate().then(() => {
      since = performance.now();
    });
  };
}
