import { type QueryKey, queryOptions, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { Static } from "../../../server/src/contract/schema.ts";
import type { RecentRequests } from "../../../server/src/operators/requests.contract.ts";
import { parseTime } from "../lib/format.ts";
import { operation } from "./call.ts";

type Answer = Static<typeof RecentRequests>;
export type AnsweredCall = Answer["calls"][number];

export interface RequestFilters {
  readonly status?: string;
  readonly operation?: string;
  readonly error?: string;
  readonly userID?: string;
  readonly deviceID?: string;
  readonly address?: string;
  readonly slowerThanMs?: string;
  readonly requestId?: string;
  readonly refused?: string;
}

interface InApplication {
  readonly appid: string;
}

const listRequests = operation<
  InApplication & RequestFilters & { readonly cursor?: string; readonly before?: string },
  Answer
>("GET", "/applications/{appid}/requests", [
  ...(["appid", "cursor", "before", "status", "operation", "error", "userID", "deviceID", "address"] as const),
  ...(["slowerThanMs", "requestId", "refused"] as const),
]);

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
  const read = () => queries.getQueryData<Answer>(queryKey);
  const tail = useQuery({
    queryKey,
    async queryFn({ signal }) {
      const before = read();
      const answer = await listRequests(
        { appid, ...filters, cursor: before?.cursor },
        { signal, isPolling: before !== undefined },
      );
      return prepend(answer, before === undefined ? undefined : read()); // which may have received earlier calls
    },
    refetchInterval: isLive ? intervalMs : false,
    refetchOnWindowFocus: isLive,
    staleTime: isLive ? 0 : Number.POSITIVE_INFINITY,
  });
  const earlier = useMutation({
    async mutationFn(before: string) {
      const answer = await listRequests({ appid, ...filters, before });
      queries.setQueryData<Answer>(queryKey, (known) => known && append(answer, known));
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
function prepend(answer: Answer, known: Answer | undefined): Answer {
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
function append({ calls, before, since }: Answer, known: Answer): Answer {
  const ids = new Set(known.calls.map(idOfCall));
  const added = calls.filter((call) => !ids.has(idOfCall(call)));
  const all = [...known.calls, ...added].sort((one, other) => parseTime(other.time) - parseTime(one.time));
  const isFull = all.length >= callsMax;
  return { ...known, calls: all, before: isFull ? undefined : before, since };
}

export function idOfCall({ requestId, worker }: AnsweredCall): string {
  return `${requestId}.${worker}`;
}

/** The last calls of a device. */
export function callsOfDevice(appid: string, deviceID: string, until: string) {
  return queryOptions({
    queryKey: ["requests", appid, "of device", deviceID, until],
    queryFn: ({ signal }) => listRequests({ appid, deviceID }, { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
}
