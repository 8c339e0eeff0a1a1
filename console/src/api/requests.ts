import { type QueryKey, queryOptions, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type AnsweredRequest, type ListRequestsQuery, listRequests, type RecentRequests } from "./admin.ts";
import { type Filters, queryOf, send } from "./send.ts";

export type RequestFilters = Filters<ListRequestsQuery>;

const everyMs = 1000;
/** More calls than an operator reads; the oldest ones are dropped first. */
const callsMax = 5000;

/**
 * The calls that match, newest first, updated while the page is visible and `isLive`. `fetchNextPage` adds earlier ones, as long
 * as the server keeps any.
 */
export function useTail(appid: string, filters: RequestFilters, isLive: boolean, intervalMs = everyMs) {
  const queries = useQueryClient();
  const queryKey: QueryKey = ["requests", appid, filters];
  const query = queryOf<ListRequestsQuery>(filters);
  const read = () => queries.getQueryData<RecentRequests>(queryKey);
  const tail = useQuery({
    queryKey,
    async queryFn({ signal }) {
      const before = read();
      const answer = await send(listRequests(appid, { ...query, cursor: before?.cursor }), {
        signal,
        isPolling: before !== undefined,
      });
      return prepend(answer, before === undefined ? undefined : read()); // which may have received earlier calls
    },
    refetchInterval: isLive ? intervalMs : false,
    refetchOnWindowFocus: isLive,
    staleTime: isLive ? 0 : Number.POSITIVE_INFINITY,
  });
  const earlier = useMutation({
    async mutationFn(before: string) {
      const answer = await send(listRequests(appid, { ...query, before }));
      queries.setQueryData<RecentRequests>(queryKey, (known) => known && append(answer, known));
    },
  });
  const before = tail.data?.before;
  return {
    ...tail,
    hasNextPage: before !== undefined,
    isFetchingNextPage: earlier.isPending,
    /** Of the attempt to read earlier calls. */
    earlierError: earlier.error,
    fetchNextPage: () => before !== undefined && !earlier.isPending && earlier.mutate(before),
  };
}

/** Adds later calls. A load balancer before several machines may repeat calls. */
function prepend(answer: RecentRequests, known: RecentRequests | undefined): RecentRequests {
  if (known === undefined) return answer;
  const ids = new Set(known.calls.slice(0, answer.calls.length + 100).map(idOfCall));
  const calls = answer.calls.filter((call) => !ids.has(idOfCall(call)));
  const merged = { ...answer, before: known.before, since: answer.since ?? known.since };
  if (calls.length === 0) return { ...merged, calls: known.calls };
  const all = [...calls, ...known.calls];
  if (all.length <= callsMax) return { ...merged, calls: all };
  const left = all.slice(0, callsMax);
  return { ...merged, calls: left, before: undefined, since: left.at(-1)?.time };
}

/** Adds earlier calls, which of several processes may be later than some that are shown. */
function append({ calls, before, since }: RecentRequests, known: RecentRequests): RecentRequests {
  const ids = new Set(known.calls.map(idOfCall));
  const added = calls.filter((call) => !ids.has(idOfCall(call)));
  const all = [...known.calls, ...added].sort((one, other) => other.time.getTime() - one.time.getTime());
  const isFull = all.length >= callsMax;
  return { ...known, calls: all, before: isFull ? undefined : before, since };
}

export function idOfCall({ requestId, worker }: AnsweredRequest): string {
  return `${requestId}.${worker}`;
}

/** The last calls of a device. */
export function callsOfDevice(appid: string, deviceID: string, until: string) {
  return queryOptions({
    queryKey: ["requests", appid, "of device", deviceID, until],
    queryFn: ({ signal }) => send(listRequests(appid, { deviceID }), { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
}
