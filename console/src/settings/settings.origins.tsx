import { useQuery } from "@tanstack/react-query";
import { type ApplicationStatistics, readApplicationStatistics } from "../api/admin.ts";
import { send } from "../api/send.ts";
import { formatNumber, showInvisible } from "../lib/format.ts";
import { intervals } from "../lib/time-range.ts";
import styles from "./settings.module.css";

export type SeenOrigin = NonNullable<ApplicationStatistics["origins"]>[number];

/** The origins of web pages that called in the last 24 hours; undefined while they are loaded. */
export function useSeenOrigins(appid: string, isNeeded: boolean): readonly SeenOrigin[] | undefined {
  const { data } = useQuery({
    queryKey: ["statistics", appid, "origins"],
    queryFn: ({ signal }) =>
      send(
        readApplicationStatistics(appid, {
          from: new Date(Date.now() - intervals.day),
          interval: "hour",
          series: "origins",
        }),
        { signal },
      ),
    enabled: isNeeded,
  });
  return data?.origins;
}

const shownMax = 10;

/** Shown next to the field, so that the operator forgets no page. */
export function SeenOrigins({ origins }: { readonly origins: readonly SeenOrigin[] | undefined }) {
  if (origins === undefined) return null;
  const rest = origins.length - shownMax;
  return (
    <p className={styles.fact}>
      {origins.length === 0
        ? "No web page has called in the last 24 hours."
        : "Web pages that called in the last 24 hours: "}
      {origins.slice(0, shownMax).map(({ origin, calls }, index) => (
        <span key={origin}>
          {index > 0 && ", "}
          <code>{showInvisible(origin)}</code> ({formatNumber(calls)})
        </span>
      ))}
      {rest > 0 && `, and ${formatNumber(rest)} more`}
    </p>
  );
}
