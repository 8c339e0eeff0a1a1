/** Continuous integration repeats everything; elsewhere a part of it must be fast. `.ci/run` sets the variable. */
const isCi = Boolean(process.env["CI"]);

const part = 4;

/** Returns the number of rounds of a property: all of them in CI, and a quarter elsewhere. */
export function rounds(all: number): number {
  return isCi ? all : Math.ceil(all / part);
}

/**
 * Returns the values to try in one round of a test that combines them with many others: all in CI, elsewhere a quarter,
 * starting at another value in each round, so that a few rounds use every value.
 */
export function valuesOf<T>(all: readonly T[], turn: number): readonly T[] {
  return isCi ? all : all.filter((_, index) => index % part === turn % part);
}
