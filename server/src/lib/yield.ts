import { setImmediate } from "node:timers/promises";

const heldMsMax = 4;

/** Yields to the event loop when it has been held for some milliseconds. Long work must await this often. */
export function createYield(): () => Promise<void> | undefined {
  let since = performance.now();
  return () => {
    if (performance.now() - since < heldMsMax) return undefined;
    return setImmediate().then(() => {
      since = performance.now();
    });
  };
}
