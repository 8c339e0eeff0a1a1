/** Continuous integration repeats everything; elsewhere a part of it has to answer soon. `.ci/run` sets the variable. */
const isCi = Boolean(process.env["CI"]);

const part = 4;

/** The number of rounds of a property: all of them in CI, and a quarter elsewhere. */
export function rounds(all: number): number {
  return isCi ? all : Math.ceil(all / part);
}

/**
 * The values to try in this turn of a test that combines them with many others: all of them in CI. Elsewhere a quarter,
 * which starts at another value in each turn, so that a few turns use every value.
 */
export function valuesOf<T>(all: readonly T[], turn: number): readonly T[] {
  return isCi ? all : all.filter((_, index) => index % part === turn % part);
}
