import { queryOptions } from "@tanstack/react-query";
import { getEffectiveSettings } from "./settings.ts";

/** Shared by the screens that show how an application is set. */
export const effectiveSettingsQuery = (appid: string) =>
  queryOptions({
    queryKey: ["settings-effective", appid],
    queryFn: ({ signal }) => getEffectiveSettings({ appid }, { signal }),
    staleTime: 60_000,
  });
