import type { Clock } from "../lib/clock.ts";

/** The clock of the service, as far as its answers said what it shows. */
export interface ServiceClock {
  /** Milliseconds since 1970-01-01 UTC; those of the local clock before any answer. */
  now(): number;
  /** @param date what an answer says */
  observe(date: Date | undefined): void;
}

export function createServiceClock(clock: Clock): ServiceClock {
  let aheadMs = 0;
  return {
    now: () => clock.now() + aheadMs,
    observe(date) {
      if (date !== undefined) aheadMs = date.getTime() - clock.now();
    },
  };
}
