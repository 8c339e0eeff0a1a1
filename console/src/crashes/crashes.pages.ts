import { listCrashGroups } from "../api/crashes.ts";
import { usePages } from "../api/pages.ts";

/** The crashes of an application, one group per bug. */
export function useCrashGroups(appid: string, sortOrder: string | undefined) {
  return usePages(["crashes", appid, "list", sortOrder], (page, options) =>
    listCrashGroups({ appid, sortOrder, ...page }, options),
  );
}
