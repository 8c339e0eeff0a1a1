import { useQuery } from "@tanstack/react-query";
import { listMetrics, type OperatedDevice, readApplicationOverview, searchOperatedDevices } from "../api/admin.ts";
import { type CallOptions, send } from "../api/send.ts";

const everyMs = 10_000;

/** The data that the calls of an app create. */
export type Kind = "devices" | "users" | "checkins" | "files" | "events";

/** The kinds of which an application has at least one; polled as long as one is missing that a first app creates. */
export function useArrivedKinds(appid: string) {
  return useQuery({
    queryKey: ["start", appid],
    queryFn: ({ signal }) => readKinds(appid, { signal, isPolling: true }),
    refetchInterval: ({ state: { data } }) =>
      data !== undefined && firstKinds.every((kind) => data.has(kind)) ? false : everyMs,
  });
}

/** The device that registered first, once there is one. */
export function useFirstDevice(appid: string, isThere: boolean): OperatedDevice | undefined {
  const { data } = useQuery({
    queryKey: ["start", appid, "first-device"],
    queryFn: ({ signal }) => send(searchOperatedDevices(appid, { sortOrder: "created", pageSize: 1 }), { signal }),
    enabled: isThere,
    staleTime: Number.POSITIVE_INFINITY,
  });
  return data?.pageResults[0];
}

const firstKinds = ["devices", "users", "checkins", "events", "files"] as const satisfies readonly Kind[];

async function readKinds(appid: string, options: CallOptions): Promise<ReadonlySet<Kind>> {
  const [{ totals }, metrics] = await Promise.all([
    send(readApplicationOverview(appid), options),
    send(listMetrics(appid, { pageSize: 1 }), options),
  ]);
  const counts: Readonly<Record<Kind, number>> = {
    devices: totals.devices.count,
    users: totals.users.count,
    checkins: totals.checkins.count,
    files: totals.files,
    events: metrics.pageResults.length,
  };
  const kinds = Object.keys(counts) as Kind[];
  return new Set(kinds.filter((kind) => counts[kind] > 0));
}
