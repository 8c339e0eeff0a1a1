import type { Clock } from "../lib/clock.ts";

/** The clock of the service, as far as its answers have reported the time. */
export interface ServiceClock {
  /** Milliseconds since 1970-01-01 UTC; those of the local clock before any answer. */
  now(): number;
  /** @param time the time in an answer, if it has one */
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
