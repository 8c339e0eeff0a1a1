/** A random number from `from` to below `to`: clients that wait for such a time do not come back together. */
export function between(from: number, to: number): number {
  return from + Math.random() * (to - from);
}
