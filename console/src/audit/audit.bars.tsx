import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { type AuditCounts, type CountAuditQuery, countAudit, type ListAuditQuery } from "../api/admin.ts";
import { type Filters, known, queryOf, send } from "../api/send.ts";
import { formatNumber } from "../lib/format.ts";
import { intervals } from "../lib/time-range.ts";
import { TimeChart } from "../ui/time-chart.tsx";
import styles from "./audit.module.css";

/** The filters of the address. */
export type AuditFilters = Filters<ListAuditQuery>;

const daysShown = 30;
const daysMax = 731;
/** Hourly counts are stored for eight days; in a longer range, their bars would be too narrow. */
const hourDaysMax = 3;
const hoursKeptMs = 8 * intervals.day;

/** The counts of the filtered log; undefined while they are loaded, and for filters that have none. */
export function useAuditCounts(filters: AuditFilters): AuditCounts | undefined {
  const range = rangeOf(filters, Date.now());
  const { appid, actorKind, action, refused } = filters;
  const given = queryOf<CountAuditQuery>({ ...range, appid, actorKind, action, refused });
  const { data } = useQuery({
    queryKey: ["audit", "counts", given],
    queryFn: ({ signal }) => send(countAudit(given), { signal }),
    placeholderData: keepPreviousData,
    enabled: isCounted(filters) && range !== undefined,
  });
  return isCounted(filters) && range !== undefined ? data : undefined;
}

/** Entries are not counted by their actor or target. */
function isCounted({ actor, target }: AuditFilters): boolean {
  return actor === undefined && target === undefined;
}

/** The last 30 days, or the range of the filters; undefined if that is none. */
function rangeOf({ from, to }: AuditFilters, now: number) {
  const end = to === undefined ? Math.ceil(now / intervals.day) * intervals.day : Date.parse(to);
  const start = from === undefined ? end - daysShown * intervals.day : Date.parse(from);
  if (!(start < end)) return undefined;
  const isShort = end - start <= hourDaysMax * intervals.day && start > now - hoursKeptMs;
  return {
    interval: isShort ? ("hour" as const) : ("day" as const),
    from: new Date(Math.max(start, end - daysMax * intervals.day)),
    to: new Date(end),
  };
}

interface AuditBarsProps {
  readonly filters: AuditFilters;
  readonly counts: AuditCounts | undefined;
  /** Filters by the range that was dragged over. */
  readonly onZoom: (range: { readonly from: string; readonly to: string }) => void;
}

/** The entries that the filters find as bars over time, by their result. */
export function AuditBars({ filters, counts, onZoom }: AuditBarsProps) {
  if (!isCounted(filters)) {
    const names = [filters.actor !== undefined && "actor", filters.target !== undefined && "target"];
    return (
      <p className={styles.fact}>
        No bars: entries are not counted by {names.filter(Boolean).join(" and ")}, only by time, action, result,
        application and kind of actor.
      </p>
    );
  }
  const bars = counts && barsOf(counts);
  const name = known(counts?.interval ?? "day");
  return (
    <div>
      <TimeChart
        title={`Entries by ${name} (UTC)${counts?.isAtLeast ? ", at least: the server is still counting" : ""}`}
        times={bars?.times}
        intervalMs={intervals[name]}
        shape="bars"
        isLow
        onZoom={(from, to) => onZoom({ from: wordOf(from), to: wordOf(to) })}
        series={[
          { label: "Done", tone: 1, values: bars?.done ?? [], summary: sumOf(bars?.done) },
          { label: "Refused", tone: 6, values: bars?.refused ?? [], summary: sumOf(bars?.refused) },
        ]}
      />
      {counts !== undefined && (
        <p className={styles.fact}>Entries are kept for {formatNumber(counts.keptDays)} days.</p>
      )}
    </div>
  );
}

function barsOf({ interval, from, to, points }: AuditCounts) {
  const [start, end, span] = [from.getTime(), to.getTime(), intervals[known(interval)]];
  const counted = new Map(points.map((point) => [point.time.getTime(), point]));
  const times = Array.from({ length: Math.round((end - start) / span) }, (_, index) => start + index * span);
  return {
    times,
    done: times.map((time) => (counted.get(time)?.entries ?? 0) - (counted.get(time)?.refused ?? 0)),
    refused: times.map((time) => counted.get(time)?.refused ?? 0),
  };
}

function sumOf(values: readonly number[] | undefined): string {
  return values === undefined ? "" : formatNumber(values.reduce((sum, value) => sum + value, 0));
}

/** A day, or a minute, in ISO 8601. */
function wordOf(time: number): string {
  const text = new Date(time).toISOString();
  return time % intervals.day === 0 ? text.slice(0, 10) : `${text.slice(0, 16)}Z`;
}
