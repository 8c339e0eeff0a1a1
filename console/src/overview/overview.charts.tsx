import { useMemo } from "react";
import type { ApplicationOverview, ApplicationStatistics } from "../api/admin.ts";
import { known } from "../api/send.ts";
import { formatNumber } from "../lib/format.ts";
import { numberLocale } from "../lib/locales.ts";
import { intervals } from "../lib/time-range.ts";
import type { ChartSeries, TimeChartProps, Tone } from "../ui/time-chart.parts.ts";
import { TimeChart } from "../ui/time-chart.tsx";
import { listChanges } from "./overview.changes.ts";
import { MarkerLegend } from "./overview.legend.tsx";
import styles from "./overview.module.css";

interface OverviewChartsProps {
  readonly overview: ApplicationOverview;
  readonly onZoom: (from: number, to: number) => void;
}

interface Drawn extends Pick<TimeChartProps, "title" | "shape" | "format"> {
  /** The names of the series, with their words and colours. */
  readonly series: readonly (readonly [name: string, label: string, tone: Tone])[];
  /** The legend for the range: the sum, or the last or highest value of a series without a meaningful sum. */
  readonly summary: "sum" | "last" | "most";
}

const charts: readonly Drawn[] = [
  {
    title: "Calls",
    shape: "areas",
    summary: "sum",
    series: [
      ["calls.2xx", "2xx", 1],
      ["calls.3xx", "3xx", 7],
      ["calls.4xx", "4xx", 2],
      ["calls.5xx", "5xx", 6],
    ],
  },
  {
    title: "Latency",
    summary: "last",
    format: formatLatency,
    series: [
      ["latency.p50", "p50", 1],
      ["latency.p95", "p95", 2],
      ["latency.p99", "p99", 6],
    ],
  },
  {
    title: "New users and devices",
    shape: "bars",
    summary: "sum",
    series: [
      ["newUsers", "Users", 1],
      ["newDevices", "Devices", 3],
    ],
  },
  { title: "Active devices", summary: "most", series: [["activeDevices", "Devices", 3]] },
  { title: "Check-ins", shape: "bars", summary: "sum", series: [["checkins", "Check-ins", 4]] },
  {
    title: "Refused",
    shape: "bars",
    summary: "sum",
    series: [
      ["failedLogins", "Failed sign-ins", 2],
      ["rateLimited", "Rate-limited", 5],
    ],
  },
];

/** One axis of time and one cursor for all charts. */
export function OverviewCharts({ overview, onZoom }: OverviewChartsProps) {
  const { statistics } = overview;
  const table = useMemo(() => tableOf(statistics, overview.before), [statistics, overview.before]);
  const markers = useMemo(() => listChanges(overview), [overview]);
  return (
    <div className={styles.charts}>
      <MarkerLegend overview={overview} />
      {charts.map(({ title, shape, format = formatNumber, summary, series }) => (
        <TimeChart
          key={title}
          title={title}
          shape={shape}
          format={format}
          times={table.times}
          intervalMs={intervals[known(statistics.interval)]}
          group="overview"
          markers={markers}
          onZoom={onZoom}
          series={series.map(([name, label, tone]) => seriesOf(table, { name, label, tone, summary, format }))}
        />
      ))}
    </div>
  );
}

type Row = readonly (number | undefined)[];

interface Table {
  readonly times: readonly number[];
  readonly values: ReadonlyMap<string, Row>;
  /** The same in the range before, if that was requested. */
  readonly before: ReadonlyMap<string, Row>;
}

/** The series with a value for each interval, undefined for intervals without one. */
function tableOf(
  { from, to, interval, series }: ApplicationStatistics,
  before: ApplicationStatistics["series"] = [],
): Table {
  const [start, end, span] = [from.getTime(), to.getTime(), intervals[known(interval)]];
  const times = Array.from({ length: (end - start) / span }, (_, index) => start + index * span);
  function rowsOf(given: ApplicationStatistics["series"], first: number): ReadonlyMap<string, Row> {
    const rows = given.map(({ name, points }) => {
      const row: (number | undefined)[] = times.map(() => undefined);
      for (const { time, value } of points) row[(time.getTime() - first) / span] = value;
      return [name, row] as const;
    });
    return new Map(rows);
  }
  return { times, values: rowsOf(series, start), before: rowsOf(before, start - (end - start)) };
}

interface Named extends Pick<Drawn, "summary"> {
  readonly name: string;
  readonly label: string;
  readonly tone: Tone;
  readonly format: (value: number) => string;
}

function seriesOf({ times, values, before }: Table, { name, label, tone, summary, format }: Named): ChartSeries {
  const own = values.get(name) ?? [];
  const isFinished = (index: number) => (times[index] ?? 0) + (times[1] ?? 0) - (times[0] ?? 0) <= Date.now();
  const last =
    own.findLast((value, index) => value !== undefined && isFinished(index)) ??
    own.findLast((value) => value !== undefined);
  const sum = own.reduce<number>((total, value) => total + (value ?? 0), 0);
  const most = own.reduce<number>((highest, value) => Math.max(highest, value ?? 0), 0);
  const summaries = {
    sum: format(sum),
    last: last === undefined ? "–" : `${format(last)} last`,
    most: `up to ${format(most)}`,
  };
  return {
    label,
    tone,
    values: own,
    before: before.get(name),
    summary: summaries[summary],
  };
}

function formatLatency(ms: number): string {
  return `${ms.toLocaleString(numberLocale, { maximumSignificantDigits: ms < 100 ? 2 : 3 })} ms`;
}
