import { keepPreviousData, type QueryKey, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { CallOptions } from "./call.ts";

const longestMs = 60_000;

/**
 * Polls while the tab is visible, less often while the server does not answer. Only the first call counts as use of the
 * session.
 */
export function useLive<Result>(key: QueryKey, read: (options: CallOptions) => Promise<Result>, everyMs: number) {
  const queries = useQueryClient();
  const [isPaused, setPaused] = useState(false);
  const query = useQuery({
    queryKey: key,
    queryFn: ({ signal }) => read({ signal, isPolling: queries.getQueryData(key) !== undefined }),
    refetchInterval: ({ state }) => (isPaused ? false : Math.min(longestMs, everyMs * 2 ** state.fetchFailureCount)),
    placeholderData: keepPreviousData,
  });
  return { ...query, isPaused, setPaused };
}
