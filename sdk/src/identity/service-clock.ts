import type { Clock } from "../lib/clock.ts";

/** The clock of the service, as far as its answers said what it shows. */
export interface ServiceClock {
  /** Milliseconds since 1970-01-01 UTC; those of the local clock before any answer. */
  now(): number;
  /** @param time what an answer says, if it says it */
  observe(time: number | undefined): void;
}

export function createServiceClock(clock: Clock): ServiceClock {
  let aheadMs = 0;
  return {
    now: () => clock.now() + aheadMs,
    observe(time) {
      if (time) aheadMs = time - clock.now();
    },
  };
}
