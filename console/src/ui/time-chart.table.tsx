import { Fragment, useState } from "react";
import { formatMoment } from "../lib/format.ts";
import { Button } from "./button.tsx";
import { MarkerSign } from "./time-chart.marker.tsx";
import styles from "./time-chart.module.css";
import { markersIn, type TimeChartProps } from "./time-chart.parts.ts";

interface TimeTableProps extends TimeChartProps {
  readonly times: readonly number[];
  readonly format: (value: number) => string;
}

const rowsMax = 48;

/** The numbers of a chart, latest first, each interval with its marked moments below. */
export function TimeTable({ title, times, intervalMs, series, markers = [], format }: TimeTableProps) {
  const [page, setPage] = useState(0);
  const last = Math.max(0, Math.ceil(times.length / rowsMax) - 1);
  const first = Math.min(page, last) * rowsMax;
  const rows = times.map((time, index) => ({ time, index })).toReversed();
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: so that it scrolls by keys */}
      <div className={styles.table} role="group" aria-label={`${title}, numbers`} tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">From</th>
              {series.map(({ label }) => (
                <th key={label} scope="col" title={label}>
                  {label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(first, first + rowsMax).map(({ time, index }) => (
              <Fragment key={time}>
                <tr>
                  <th scope="row">{formatMoment(time, intervalMs)}</th>
                  {series.map(({ label, values }) => {
                    const value = values[index];
                    return <td key={label}>{value === undefined ? "–" : format(value)}</td>;
                  })}
                </tr>
                {markersIn(markers, time, intervalMs)
                  .toReversed()
                  .map(({ at, kind, label }) => (
                    <tr key={`${at} ${label}`} className={styles.marked}>
                      <td colSpan={series.length + 1}>
                        <MarkerSign kind={kind} /> {label}
                      </td>
                    </tr>
                  ))}
              </Fragment>
            ))}
          </tbody>
        </table>
      </div>
      {last > 0 && (
        <div className={styles.pages}>
          <Button size="small" isDisabled={page === 0} onPress={() => setPage(page - 1)}>
            Later
          </Button>
          <Button size="small" isDisabled={page >= last} onPress={() => setPage(page + 1)}>
            Earlier
          </Button>
        </div>
      )}
    </>
  );
}
