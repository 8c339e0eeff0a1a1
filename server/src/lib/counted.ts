/** Counts stop at this number. */
export const countMax = 1_000;

/** A count that stops at {@link countMax}. */
export interface Counted {
  readonly count: number;
  readonly isMore: boolean;
}

/** @param rows at most {@link countMax} + 1 */
export function counted(rows: number): Counted {
  return { count: Math.min(rows, countMax), isMore: rows > countMax };
}
