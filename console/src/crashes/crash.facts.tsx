import type { ReactNode } from "react";
import type { CrashGroup } from "../api/admin.ts";
import { formatCount, formatNumber, showInvisible } from "../lib/format.ts";
import { Time } from "../ui/time.tsx";
import { TimeChart } from "../ui/time-chart.tsx";
import styles from "./crashes.module.css";

const dayMs = 86_400_000;
const daysShown = 14;

/** The first moments of the last days, in UTC. */
function lastDays(): number[] {
  const today = Math.floor(Date.now() / dayMs) * dayMs;
  return Array.from({ length: daysShown }, (_, index) => today - (daysShown - 1 - index) * dayMs);
}

/** The reports of each of the last 14 days. */
export function reportsByDay({ days }: Pick<CrashGroup, "days">): { times: number[]; reports: number[] } {
  const counted = new Map(days.map(({ start, reports }) => [start.getTime(), reports]));
  const times = lastDays();
  return { times, reports: times.map((time) => counted.get(time) ?? 0) };
}

export function GroupFacts({ group }: { readonly group: CrashGroup }) {
  const { reports, devices, platforms, firstSeen, lastSeen, note } = group;
  const byDay = reportsByDay(group);
  const total = byDay.reports.reduce((sum, each) => sum + each, 0);
  return (
    <>
      <p className={styles.life}>
        {formatCount(reports, "report")} from {formatCount(devices, "device")}
        {platforms.length > 0 && ` (${showInvisible(platforms.join(", "))})`}, first <Time value={firstSeen} />, last{" "}
        <Time value={lastSeen} />
        <Decision group={group} />
      </p>
      {note !== undefined && <blockquote className={styles.note}>{showInvisible(note)}</blockquote>}
      <TimeChart
        title="Reports by day (UTC), 14 days"
        times={byDay.times}
        intervalMs={dayMs}
        shape="bars"
        series={[{ label: "Reports", tone: 6, values: byDay.reports, summary: formatNumber(total) }]}
      />
    </>
  );
}

/** The event that would reopen the crash, or has reopened it. */
function Decision({ group }: { readonly group: CrashGroup }): ReactNode {
  const { state, reopened, resolvedIn, ignoreUntil } = group;
  if (state === "open") {
    return (
      reopened !== undefined && (
        <>
          . A report opened it again <Time value={reopened} />
        </>
      )
    );
  }
  if (state === "resolved") {
    const from = resolvedIn === undefined ? "Any report" : `A report of ${showInvisible(resolvedIn)} or later`;
    return `. ${from} opens it again`;
  }
  if (ignoreUntil === undefined) return ". Ignored for good";
  const { reports, devices, date } = ignoreUntil;
  const ends = [
    ...(reports === undefined ? [] : [`${formatCount(reports, "more report")}`]),
    ...(devices === undefined ? [] : [`${formatCount(devices, "more device")}`]),
  ].join(" or ");
  return (
    <>
      . Ignored until {ends}
      {date !== undefined && (
        <>
          {ends !== "" && " or "}a report from <Time value={date} isExact /> on
        </>
      )}
    </>
  );
}
