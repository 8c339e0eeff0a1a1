import type { Database, Queries } from "./database.ts";

/** The rows that one transaction of a long deletion takes, so that other writes do not wait for long. */
export const rowsPerStep = 1_000;

/**
 * Deletes any number of rows in bounded transactions.
 *
 * @param deleteSome takes at most {@link rowsPerStep} rows, and returns how many it found
 */
export async function inSteps(
  { write }: Database,
  signal: AbortSignal | undefined,
  deleteSome: (queries: Queries) => Promise<number>,
): Promise<void> {
  do signal?.throwIfAborted();
  while ((await write(({ queries }) => deleteSome(queries))) === rowsPerStep);
}
