import styles from "./time-chart.module.css";
import type { ChartMarker } from "./time-chart.parts.ts";

const shapes = { change: "M2 2H10L6 10Z", version: "M1 0V12M1 1L11 5L1 9Z" } as const;

/** The symbol of a marker, as on the charts; its label is next to it. */
export function MarkerSign({ kind }: Pick<ChartMarker, "kind">) {
  return (
    <svg className={styles.sign} data-kind={kind} width="12" height="12" aria-hidden="true">
      <path d={shapes[kind]} />
    </svg>
  );
}
