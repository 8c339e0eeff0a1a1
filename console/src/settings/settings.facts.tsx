import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { type ApplicationStatistics, type FileUsage, getFileUsage, readApplicationStatistics } from "../api/admin.ts";
import { send } from "../api/send.ts";
import { formatBytes, formatNumber, formatShare, showInvisible } from "../lib/format.ts";
import { numberLocale } from "../lib/locales.ts";
import { intervals } from "../lib/time-range.ts";
import styles from "./settings.module.css";

interface FactProps {
  readonly appid: string;
  readonly path: string;
}

const limitsOfCalls: ReadonlySet<string> = new Set(["limits.application", "limits.caller", "limits.operations"]);

/** Information for the choice of a value: how much of a limit or of a quota is used. */
export function Fact({ appid, path }: FactProps) {
  if (limitsOfCalls.has(path)) return <Peak appid={appid} path={path} />;
  return path.endsWith("PerApplication") && <Use appid={appid} path={path} />;
}

/** The peak of the last day, by minutes. */
function Peak({ appid, path }: FactProps) {
  const { data } = useQuery({
    queryKey: ["statistics", appid, "peaks"],
    queryFn: ({ signal }) =>
      send(
        readApplicationStatistics(appid, {
          from: new Date(Date.now() - intervals.day),
          interval: "minute",
          series: "calls,peaks",
        }),
        { signal },
      ),
  });
  return data !== undefined && <Line>{describePeak(path, data)}</Line>;
}

function describePeak(path: string, { series, peaks = [] }: ApplicationStatistics): ReactNode {
  const calls = busiestMinute(series);
  if (calls === 0 && peaks.length === 0) return path === "limits.application" && "No calls in the last 24 hours.";
  if (path === "limits.application") return `Busiest minute of the last 24 hours: ${inWords(calls)}.`;
  const ofDevice = peaks.find(({ limit }) => limit === "caller");
  if (path === "limits.caller")
    return ofDevice && `Busiest minute of a device in the last 24 hours: ${inWords(ofDevice.calls)}.`;
  const ofOperations = peaks.filter((peak) => peak !== ofDevice);
  if (ofOperations.length === 0) return "Operations that have a limit show the busiest minute of a device here.";
  return (
    <>
      Busiest minute of a device in the last 24 hours:{" "}
      {ofOperations.map(({ limit, calls }, index) => (
        <span key={limit}>
          {index > 0 && "; "}
          <code>{showInvisible(limit)}</code> {inWords(calls)}
        </span>
      ))}
      .
    </>
  );
}

function inWords(calls: number): string {
  const perSecond = (calls / 60).toLocaleString(numberLocale, { maximumSignificantDigits: 2 });
  return `${formatNumber(calls)} ${calls === 1 ? "call" : "calls"}, ${perSecond} a second`;
}

function busiestMinute(series: ApplicationStatistics["series"]): number {
  const calls = new Map<number, number>();
  for (const { points } of series) {
    for (const { time, value } of points) calls.set(time.getTime(), (calls.get(time.getTime()) ?? 0) + value);
  }
  return Math.max(0, ...calls.values());
}

/** How much of a quota is used, or would be. */
function Use({ appid, path }: FactProps) {
  const { data } = useQuery({
    queryKey: ["file-usage", appid],
    queryFn: ({ signal }) => send(getFileUsage(appid), { signal }),
  });
  return data !== undefined && <Line>{describeUse(path, data)}</Line>;
}

function describeUse(path: string, { files, bytes, filesMax, bytesMax }: FileUsage): string {
  const isSize = path.includes("bytes");
  const [used, quota] = isSize ? [bytes, bytesMax] : [files, filesMax];
  const share = quota === undefined ? "" : `, ${formatShare(used / Math.max(quota, 1))} of the quota`;
  return `In use: ${isSize ? formatBytes(used) : formatNumber(used)}${share}.`;
}

function Line({ children }: { readonly children: ReactNode }) {
  return children && <p className={styles.fact}>{children}</p>;
}
