import type { Clock } from "../lib/clock.ts";

/** Estimates the time of the service from its responses. */
export interface ServiceClock {
  /** Milliseconds since 1970-01-01 UTC; the local time before the first response. */
  now(): number;
  /** @param time the time in a response, if it has one */
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
