import { type QueryKey, queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import type { Static } from "../../../server/src/contract/schema.ts";
import type { RecentRequests } from "../../../server/src/requests/requests.contract.ts";
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

const listRequests = operation<InApplication & RequestFilters & { readonly cursor?: string }, Answer>(
  "GET",
  "/applications/{appid}/requests",
  [
    ...(["appid", "cursor", "status", "operation", "error", "userID", "deviceID", "address"] as const),
    ...(["slowerThanMs", "requestId", "refused"] as const),
  ],
);

const everyMs = 1000;
/** More calls than an operator reads; the oldest ones are dropped first. */
const callsMax = 2000;

/** The calls that match, newest first, updated while the page is visible and `isLive`. */
export function useTail(appid: string, filters: RequestFilters, isLive: boolean, intervalMs = everyMs) {
  const queries = useQueryClient();
  const queryKey: QueryKey = ["requests", appid, filters];
  return useQuery({
    queryKey,
    async queryFn({ signal }) {
      const before = queries.getQueryData<Answer>(queryKey);
      const given = { appid, ...filters, cursor: before?.cursor };
      return append(await listRequests(given, { signal, isPolling: before !== undefined }), before);
    },
    refetchInterval: isLive ? intervalMs : false,
    refetchOnWindowFocus: isLive,
    staleTime: isLive ? 0 : Number.POSITIVE_INFINITY,
  });
}

/** A load balancer before several machines may repeat calls. */
function append(answer: Answer, before: Answer | undefined): Answer {
  if (before === undefined) return answer;
  const known = new Set(before.calls.slice(0, answer.calls.length + 100).map(idOfCall));
  const calls = answer.calls.filter((call) => !known.has(idOfCall(call)));
  return { ...answer, calls: calls.length === 0 ? before.calls : [...calls, ...before.calls].slice(0, callsMax) };
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
