/** Returns a random number from `from` to below `to`. As a waiting time, it spreads the reconnects of clients. */
export function between(from: number, to: number): number {
  return from + Math.random() * (to - from);
}
