import type { MetricSeries } from "../api/admin.ts";
import { showInvisible } from "../lib/format.ts";
import { numberLocale } from "../lib/locales.ts";
import type { ChartSeries, Tone } from "../ui/time-chart.parts.ts";

type Point = MetricSeries["series"][number]["points"][number];
type Figure = Exclude<keyof Point, "start">;

/** The figures that a chart shows of each interval. */
export interface Measure {
  readonly name: string;
  readonly label: string;
  readonly figures: readonly (readonly [figure: Figure, label: string])[];
  /** Whether intervals and groups add up, so that the chart may stack them. */
  readonly isSum: boolean;
}

function single(figure: Figure, label: string, isSum = false): Measure {
  return { name: figure, label, figures: [[figure, label]], isSum };
}

const percentiles = [
  ["p50", "Median"],
  ["p95", "95 %"],
  ["p99", "99 %"],
] as const;

const ofEvents: readonly Measure[] = [
  single("count", "Events", true),
  single("devices", "Devices"),
  single("users", "Users"),
];

const ofValue: readonly Measure[] = [
  { name: "percentiles", label: "Percentiles", figures: percentiles, isSum: false },
  single("mean", "Mean"),
  single("sum", "Sum", true),
  single("min", "Smallest"),
  single("max", "Largest"),
  ...percentiles.map(([figure, label]) => single(figure, label)),
  single("count", "Values", true),
];

/** The available figures of the events, or of the numbers of a value; of groups only one figure at a time. */
export function measuresOf(value: string | undefined, isGrouped: boolean): readonly Measure[] {
  const measures = value === undefined ? ofEvents : ofValue;
  return isGrouped ? measures.filter(({ figures }) => figures.length === 1) : measures;
}

/** The names of the numeric values, and of the values by which events can be grouped. */
export function valueNames({ series }: MetricSeries): { readonly numbers: string[]; readonly groupable: string[] } {
  const names = (isWanted: (point: Point) => boolean) =>
    series.flatMap(({ value, points }) => (value !== undefined && points.some(isWanted) ? [value] : []));
  return {
    numbers: names(({ min }) => min !== undefined),
    groupable: names(({ count, min }) => count > 0 && min === undefined),
  };
}

/** The series of a chart: a figure of each group, or the figures of the one series. */
export function chartSeries(
  { series }: MetricSeries,
  before: MetricSeries | undefined,
  { value, measure }: { readonly value: string | undefined; readonly measure: Measure },
): ChartSeries[] {
  const wanted = series.filter((each) => each.value === value);
  return wanted.flatMap((each, index) =>
    measure.figures.map(([figure, label], position) => {
      const earlier = before?.series.find((other) => isSameGroup(other, each));
      return {
        label: wanted.length > 1 || each.group !== undefined ? groupLabel(each) : label,
        tone: ((Math.max(index, position) % 8) + 1) as Tone, // 1 to 8
        values: each.points.map((point) => figureOf(point, figure)),
        ...(earlier && { before: earlier.points.map((point) => figureOf(point, figure)) }),
        summary: summaryOf(each.points, figure, measure),
      };
    }),
  );
}

type Series = MetricSeries["series"][number];

function isSameGroup(a: Series, b: Series): boolean {
  return a.value === b.value && a.group === b.group && a.isOther === b.isOther;
}

function groupLabel({ group, isOther }: Series): string {
  if (isOther === true) return "All others";
  return group === "" ? "(empty)" : showInvisible(group ?? "");
}

/** In intervals without events, counts are 0 and other figures are undefined. */
function figureOf(point: Point, figure: Figure): number | undefined {
  return point[figure];
}

function summaryOf(points: readonly Point[], figure: Figure, { isSum }: Measure): string {
  const known = points.flatMap((point) => figureOf(point, figure) ?? []);
  if (known.length === 0) return "–";
  return formatFigure(isSum ? known.reduce((total, each) => total + each, 0) : (known.at(-1) ?? 0));
}

export function formatFigure(value: number): string {
  const options = Math.abs(value) >= 1_000 ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: 4 };
  return value.toLocaleString(numberLocale, options);
}

/** The starts of the intervals. */
export function timesOf({ series }: MetricSeries): number[] {
  return series[0]?.points.map(({ start }) => start.getTime()) ?? [];
}
