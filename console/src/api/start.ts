import { useQuery } from "@tanstack/react-query";
import { type Overview, readOverview } from "./statistics.ts";

const everyMs = 10_000;

/** How many devices, users and check-ins an application has; asked again as long as one of them is missing. */
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
