import { type InfiniteData, keepPreviousData, type QueryKey, useInfiniteQuery } from "@tanstack/react-query";
import type { CallOptions } from "./call.ts";

/** A page of a listing, as all listings of the API answer it. */
interface Page<Item> {
  readonly pageResults: readonly Item[];
  readonly nextToken?: string;
}

export interface PageParameters {
  readonly pageSize?: number;
  readonly pagingToken?: string;
}

const pageSize = 100;
/** More rows than an operator scrolls through; beyond it, a filter helps. */
const rowsMax = 100_000;

/** The rows of a listing, fetched page by page as the operator scrolls. */
export function usePages<Item>(
  key: QueryKey,
  list: (page: PageParameters, options: CallOptions) => Promise<Page<Item>>,
) {
  const query = useInfiniteQuery<Page<Item>, Error, InfiniteData<Page<Item>>, QueryKey, string | undefined>({
    queryKey: key,
    queryFn: ({ pageParam, signal }) =>
      list({ pageSize, ...(pageParam !== undefined && { pagingToken: pageParam }) }, { signal }),
    initialPageParam: undefined,
    getNextPageParam: (last, pages) => (pages.length * pageSize < rowsMax ? last.nextToken : undefined),
    placeholderData: keepPreviousData,
  });
  return { ...query, rows: query.data?.pages.flatMap((page) => page.pageResults) ?? [] };
}
