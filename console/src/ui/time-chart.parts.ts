/** A colour and a dash pattern of the charts. */
export type Tone = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8;

export interface ChartSeries {
  readonly label: string;
  readonly tone: Tone;
  /** One for each time; undefined where there is none. */
  readonly values: readonly (number | undefined)[];
  /** The legend while the pointer is outside the chart, such as the sum. */
  readonly summary?: string;
  /** The same in the period before, as a faint line. */
  readonly before?: readonly (number | undefined)[];
}

/** A moment that explains a change in the charts. */
export interface ChartMarker {
  readonly at: number;
  /** The symbol: a triangle for an operator's action, a flag for a version of the app. */
  readonly kind: "change" | "version";
  readonly label: string;
}

/** The moments in an interval, the earliest first. */
export function markersIn(markers: readonly ChartMarker[], time: number, intervalMs: number): readonly ChartMarker[] {
  return markers.filter(({ at }) => at >= time && at < time + intervalMs).toSorted((a, b) => a.at - b.at);
}

export interface TimeChartProps {
  readonly title: string;
  /** The first moments of the intervals, in milliseconds; undefined while they are loaded. */
  readonly times: readonly number[] | undefined;
  /** The length of an interval. */
  readonly intervalMs: number;
  readonly series: readonly ChartSeries[];
  /** Areas and bars stand on one another, so that their height is the sum. */
  readonly shape?: "lines" | "areas" | "bars";
  /** Above a list, which needs the room. */
  readonly isLow?: boolean;
  readonly format?: (value: number) => string;
  readonly markers?: readonly ChartMarker[];
  /** Charts of one group share the cursor. */
  readonly group?: string;
  /** The operator has dragged over a range. */
  readonly onZoom?: (from: number, to: number) => void;
}

/** The dash pattern of a series, in pixels, because colour is not sufficient to distinguish series. */
export function dashOf({ series }: Pick<TimeChartProps, "series">, tone: Tone): readonly number[] {
  return series.length === 1 ? [] : dashes[tone];
}

const dashes: Readonly<Record<Tone, readonly number[]>> = {
  1: [],
  2: [6, 3],
  3: [2, 2],
  4: [8, 3, 2, 3],
  5: [12, 4],
  6: [4, 2],
  7: [1, 3],
  8: [10, 3, 3, 3],
};
