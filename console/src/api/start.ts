import { useQuery } from "@tanstack/react-query";
import { type Overview, readOverview } from "./statistics.ts";

const everyMs = 10_000;

/** The numbers of devices, users and check-ins of an application; polled as long as one of them is 0. */
export function useTotals(appid: string) {
  return useQuery({
    queryKey: ["start", appid],
    queryFn: async ({ signal }) => (await readOverview({ appid }, { signal, isPolling: true })).totals,
    refetchInterval: ({ state: { data } }) => (data !== undefined && isComplete(data) ? false : everyMs),
  });
}

function isComplete({ devices, users, checkins }: Overview["totals"]): boolean {
  return [devices, users, checkins].every(({ count }) => count > 0);
}
