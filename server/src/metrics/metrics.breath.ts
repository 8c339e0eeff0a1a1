import { setImmediate } from "node:timers/promises";

const heldMsMax = 4;

/** Lets others have the event loop when it has been held for some milliseconds: to be awaited often by long work. */
export function createBreath(): () => Promise<void> | undefined {
  let since = performance.now();
  return () => {
    if (performance.now() - since < heldMsMax) return undefined;
    return setImmediate().then(() => {
      since = performance.now();
    });
  };
}
