/**
 * Returns a random number from `from` to below `to`, so that clients which wait for such a time do not reconnect
 * simultaneously.
 */
export function between(from: number, to: number): number {
  return from + Math.random() * (to - from);
}
