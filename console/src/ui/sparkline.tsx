import styles from "./sparkline.module.css";

interface SparklineProps {
  /** The description for people who do not see it: "Calls in the last 24 hours". */
  readonly label: string;
  /** From the earliest to the latest, at even distances. */
  readonly values: readonly number[];
  /** A colour of the charts. */
  readonly tone?: 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8;
}

const [width, height] = [96, 24];

/** A line without axes next to a number, which it explains. Its lowest point is zero. */
export function Sparkline({ label, values, tone = 1 }: SparklineProps) {
  const most = Math.max(1, ...values);
  const step = width / Math.max(1, values.length - 1);
  const points = values.map(
    (value, index) => `${round(index * step)},${round(height - 1 - (value / most) * (height - 2))}`,
  );
  const line = `M${points.join("L")}`;
  return (
    <svg
      className={styles.spark}
      data-tone={tone}
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      {values.length > 1 && (
        <>
          <path className={styles.area} d={`${line}L${width},${height}L0,${height}Z`} />
          <path className={styles.line} d={line} />
        </>
      )}
    </svg>
  );
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
