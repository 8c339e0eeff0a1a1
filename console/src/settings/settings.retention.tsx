import { useQuery } from "@tanstack/react-query";
import { type EffectiveSettings, listCrashGroups, listMetrics, readMetric } from "../api/admin.ts";
import { type CallOptions, send } from "../api/send.ts";
import { formatBounded, formatCount, formatDay } from "../lib/format.ts";
import TriangleAlert from "../lib/icons/triangle-alert.ts";
import styles from "./settings.module.css";
import { type Draft, valueAt } from "./settings.values.ts";

const dayMs = 86_400_000;
/** Each takes a call. */
const metricsMax = 10;
const crashesMax = 100;

interface RetentionLossProps {
  readonly appid: string;
  readonly draft: Draft;
  readonly effective: EffectiveSettings;
}

/** The number of records that a shorter retention deletes, counted before the save because Undo cannot restore them. */
export function RetentionLoss({ appid, draft, effective }: RetentionLossProps) {
  const losses = [
    { member: "metricsDays", count: countEvents },
    { member: "crashReportsDays", count: countCrashes },
  ] as const;
  return losses.map(({ member, count }) => {
    const path = `retention.${member}`;
    const before = Number(valueAt(effective.values, path));
    const after = daysOf(draft[path], Number(valueAt(effective.defaults, path)));
    return after !== undefined && after < before && <Loss key={member} {...{ appid, member, count, before, after }} />;
  });
}

/** An empty field means the default; undefined if the input is not a number of days. */
function daysOf(text = "", standard: number): number | undefined {
  if (text.trim() === "") return standard;
  return /^[1-9]\d{0,4}$/.test(text.trim()) ? Number(text) : undefined;
}

/** Counts the records from before a time, as a number with its noun; empty for zero. */
type Count = (appid: string, before: number, keptDays: number, options: CallOptions) => Promise<string>;

interface LossProps {
  readonly appid: string;
  readonly member: string;
  readonly count: Count;
  readonly before: number;
  readonly after: number;
}

function Loss({ appid, member, count, before, after }: LossProps) {
  const cutoff = (Math.floor(Date.now() / dayMs) - after) * dayMs;
  const { data } = useQuery({
    queryKey: ["retention-loss", appid, member, cutoff],
    queryFn: ({ signal }) => count(appid, cutoff, before, { signal }),
    staleTime: 60_000,
  });
  return (
    <p className={styles.loss} role="status">
      <TriangleAlert size={16} aria-hidden />
      {data === undefined
        ? "Counting what it drops …"
        : `Drops what is from before ${formatDay(new Date(cutoff))}, for good: ${data}.`}
    </p>
  );
}

/** From the roll-ups of the first metrics. */
async function countEvents(appid: string, before: number, keptDays: number, options: CallOptions): Promise<string> {
  const { pageResults, nextToken } = await send(listMetrics(appid, { pageSize: metricsMax }), options);
  const range = { from: new Date(before - keptDays * dayMs), to: new Date(before) };
  const read = await Promise.all(
    pageResults.map(({ key }) => send(readMetric(appid, key, { ...range, interval: "day" }), options)),
  );
  const counts = read.map(({ series }) => {
    const points = series.find(({ value, group }) => value === undefined && group === undefined)?.points ?? [];
    return points.reduce((sum, point) => sum + point.count, 0);
  });
  const sum = counts.reduce((total, each) => total + each, 0);
  const dropped = counts.filter((each) => each > 0).length;
  if (sum === 0 && nextToken === undefined) return "no event of a metric";
  const isMore = nextToken !== undefined;
  return `${formatCount(sum, "event", isMore)} of ${formatCount(dropped, "metric", isMore)}`;
}

async function countCrashes(appid: string, before: number, _: number, options: CallOptions): Promise<string> {
  const firstSeen = { to: new Date(before) };
  const { pageResults, nextToken } = await send(listCrashGroups(appid, { firstSeen, pageSize: crashesMax }), options);
  if (pageResults.length === 0) return "no crash report";
  const crashes = nextToken === undefined && pageResults.length === 1 ? "crash" : "crashes";
  return `reports of ${formatBounded(pageResults.length, nextToken !== undefined)} ${crashes}`;
}
