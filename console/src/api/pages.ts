import { type InfiniteData, keepPreviousData, type QueryKey, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import type { CallOptions } from "./call.ts";

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
