import {
  type InfiniteData,
  keepPreviousData,
  type QueryClient,
  type QueryKey,
  queryOptions,
  useInfiniteQuery,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { useState } from "react";
import { getEffectiveSettings, listApplications } from "./admin.ts";
import { type CallOptions, send } from "./send.ts";

/** Enough for a menu, and shared by all lists of application names. */
export const firstApplicationsQuery = queryOptions({
  queryKey: ["applications", "first"],
  queryFn: ({ signal }) => send(listApplications({ pageSize: 50 }), { signal }),
  staleTime: 60_000,
});

/** Shared by the screens that show how an application is set. */
export const effectiveSettingsQuery = (appid: string) =>
  queryOptions({
    queryKey: ["settings-effective", appid],
    queryFn: ({ signal }) => send(getEffectiveSettings(appid), { signal }),
    staleTime: 60_000,
  });

const waitMsMax = 1_500;

/**
 * Fetches data again that a call has changed. Waits for it, so that a dialog closes over the new state, but not long: the
 * change is made, even if what shows it cannot be fetched.
 */
export async function refetch(queries: QueryClient, ...keys: readonly QueryKey[]): Promise<void> {
  const fetching = Promise.all(keys.map((queryKey) => queries.invalidateQueries({ queryKey })));
  await Promise.race([fetching, new Promise((resolve) => setTimeout(resolve, waitMsMax))]);
}

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

/** A page of a listing, in the form of all listings of the API. */
interface Page<Item> {
  readonly pageResults: readonly Item[];
  readonly nextToken?: string;
}

export interface PageParameters {
  readonly pageSize?: number;
  readonly pagingToken?: string;
}

const pageSize = 100;
/** More rows than an operator scrolls through; with more, a filter helps. */
const rowsMax = 100_000;

const newRowsEveryMs = 30_000;

/**
 * The rows of a listing, fetched page by page as the operator scrolls. The first page is fetched again while the list
 * is open, as `newest`: rows must not move under the pointer, so the list only shows the number of new ones.
 */
export function usePages<Item>(
  key: QueryKey,
  list: (page: PageParameters, options: CallOptions) => Promise<Page<Item>>,
  { enabled = true }: { readonly enabled?: boolean } = {},
) {
  const query = useInfiniteQuery<Page<Item>, Error, InfiniteData<Page<Item>>, QueryKey, string | undefined>({
    queryKey: key,
    queryFn: ({ pageParam, signal }) =>
      list({ pageSize, ...(pageParam !== undefined && { pagingToken: pageParam }) }, { signal }),
    initialPageParam: undefined,
    getNextPageParam: (last, pages) => (pages.length * pageSize < rowsMax ? last.nextToken : undefined),
    placeholderData: keepPreviousData,
    enabled,
  });
  const first = query.isPlaceholderData ? undefined : query.data?.pages[0];
  const newest = useQuery({
    queryKey: [...key, "newest"],
    queryFn: ({ signal }) => list({ pageSize }, { signal, isPolling: true }),
    initialData: first,
    staleTime: newRowsEveryMs,
    refetchInterval: newRowsEveryMs,
    refetchOnWindowFocus: false,
    enabled: enabled && first !== undefined,
  });
  return {
    ...query,
    rows: query.data?.pages.flatMap((page) => page.pageResults) ?? [],
    newest: newest.data?.pageResults ?? [],
    isCut: !query.hasNextPage && query.data?.pages.at(-1)?.nextToken !== undefined,
  };
}
