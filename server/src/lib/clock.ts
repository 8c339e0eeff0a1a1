/** Returns the time in milliseconds since 1970-01-01 UTC, which never decreases. */
export interface Clock {
  now(): number;
}

/**
 * A clock that never steps back. When the wall clock is set back, it continues from its latest time at the pace of the
 * monotonic clock until the wall clock has caught up, so that an expired token stays expired and creation times stay in
 * order.
 *
 * @param wallTime the wall clock in milliseconds
 * @param monotonicTime a clock in milliseconds that cannot be set
 */
export function createClock(
  wallTime: () => number = Date.now,
  monotonicTime: () => number = () => performance.now(),
): Clock {
  let lastReported = wallTime();
  let monotonicLast = monotonicTime();
  return {
    now() {
      const wall = wallTime();
      if (wall < lastReported) {
        const monotonic = monotonicTime();
        const elapsed = Math.floor(monotonic - monotonicLast);
        if (elapsed > 0) {
          lastReported += elapsed;
          monotonicLast += elapsed;
        }
        return lastReported;
      }
      if (wall > lastReported) {
        lastReported = wall;
        monotonicLast = monotonicTime();
      }
      return lastReported;
    },
  };
}
