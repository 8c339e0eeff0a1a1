/** Counting stops here. */
export const countMax = 1_000;

/** A number of which counting stops at {@link countMax}. */
export interface Counted {
  readonly count: number;
  readonly isMore: boolean;
}

/** @param rows of which at most one is beyond {@link countMax} */
export function counted(rows: number): Counted {
  return { count: Math.min(rows, countMax), isMore: rows > countMax };
}
