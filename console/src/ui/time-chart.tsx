import { lazy, Suspense, useState } from "react";
import { formatMoment, formatNumber } from "../lib/format.ts";
import ChartLine from "../lib/icons/chart-line.ts";
import TableProperties from "../lib/icons/table-properties.ts";
import { usePreferences } from "../lib/preferences.ts";
import { IconButton } from "./button.tsx";
import styles from "./time-chart.module.css";
import { dashOf, markersIn, type TimeChartProps, type Tone } from "./time-chart.parts.ts";
import { TimeTable } from "./time-chart.table.tsx";

/** Loaded with the first chart. */
const Canvas = lazy(() => import("./time-chart.canvas.tsx").then(({ ChartCanvas }) => ({ default: ChartCanvas })));

/** Numbers over time as lines, areas or bars, and as a table behind a button. */
export function TimeChart(props: TimeChartProps) {
  const { title, times, intervalMs, series, format = formatNumber, markers = [], isLow = false } = props;
  const [isTable, setTable] = useState(false);
  const [index, setIndex] = useState<number>();
  usePreferences(); // the time zone
  const time = index === undefined ? undefined : times?.[index];
  const marked = time === undefined ? [] : markersIn(markers, time, intervalMs);
  const isEmpty = times !== undefined && series.every(({ values }) => values.every((value) => !value));
  return (
    <section className={styles.chart} data-low={isLow || undefined} aria-label={title}>
      <header className={styles.head}>
        <h2>{title}</h2>
        <span className={styles.moment}>
          {marked.length > 0
            ? shownMarkers(marked.map(({ label }) => label))
            : time !== undefined && formatMoment(time, intervalMs)}
          {time !== undefined && time + intervalMs > Date.now() && ", so far"}
        </span>
        <IconButton
          label={isTable ? `${title} as a chart` : `${title} as a table`}
          size="small"
          onPress={() => setTable(!isTable)}
        >
          {isTable ? <ChartLine size={16} aria-hidden /> : <TableProperties size={16} aria-hidden />}
        </IconButton>
      </header>
      <ul className={styles.legend}>
        {series.map(({ label, tone, values, summary }) => (
          <li key={label}>
            <Swatch
              tone={tone}
              dash={props.shape === undefined || props.shape === "lines" ? dashOf(props, tone) : undefined}
            />
            {label}
            <b>{index === undefined ? summary : shownValue(values[index], format)}</b>
          </li>
        ))}
      </ul>
      {isTable && times !== undefined ? (
        <TimeTable {...props} times={times} markers={markers} format={format} />
      ) : (
        <div className={styles.plot}>
          {times !== undefined && (
            <Suspense fallback={<span aria-busy="true" />}>
              <Canvas {...props} times={times} markers={markers} format={format} onIndex={setIndex} />
            </Suspense>
          )}
          {isEmpty && <p className={styles.nothing}>Nothing in this period</p>}
        </div>
      )}
    </section>
  );
}

const markersShown = 2;

function shownMarkers(labels: readonly string[]): string {
  const more = labels.length - markersShown;
  return [...labels.slice(0, markersShown), ...(more > 0 ? [`${more} more`] : [])].join(", ");
}

function shownValue(value: number | undefined, format: (value: number) => string): string {
  return value === undefined ? "–" : format(value);
}

interface SwatchProps {
  readonly tone: Tone;
  /** Of a line; undefined for an area or bars. */
  readonly dash: readonly number[] | undefined;
}

function Swatch({ tone, dash }: SwatchProps) {
  return (
    <svg className={styles.swatch} data-tone={tone} width={dash === undefined ? 10 : 20} height="10" aria-hidden="true">
      {dash !== undefined ? (
        <line x1="0" y1="5" x2="20" y2="5" strokeDasharray={dash.join(" ") || undefined} />
      ) : (
        <rect width="10" height="10" rx="2" />
      )}
    </svg>
  );
}
