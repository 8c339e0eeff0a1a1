import type { QueryClient, QueryKey } from "@tanstack/react-query";

const waitMsMax = 1_500;

/**
 * Fetches data again that a call has changed. Waits for it, so that a dialog closes over the new state, but not long: the
 * change is made, even if what shows it cannot be fetched.
 */
export async function refetch(queries: QueryClient, ...keys: readonly QueryKey[]): Promise<void> {
  const fetching = Promise.all(keys.map((queryKey) => queries.invalidateQueries({ queryKey })));
  await Promise.race([fetching, new Promise((resolve) => setTimeout(resolve, waitMsMax))]);
}
