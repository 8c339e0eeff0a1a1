import { useEffect, useRef } from "react";
import uPlot from "uplot";
import { formatCompact, formatTick } from "../lib/format.ts";
import { usePreferences } from "../lib/preferences.ts";
import styles from "./time-chart.module.css";
import { type ChartMarker, dashOf, type TimeChartProps, type Tone } from "./time-chart.parts.ts";

interface ChartCanvasProps extends TimeChartProps {
  readonly times: readonly number[];
  readonly format: (value: number) => string;
  readonly markers: readonly ChartMarker[];
  /** The interval below the cursor of the group. */
  readonly onIndex: (index: number | undefined) => void;
}

const dayMs = 86_400_000;

/** Distances of the numbers at an axis: 0.001, 0.002, 0.005, 0.01 and so on. */
const allSteps = Array.from(
  { length: 54 },
  (_, index) => ([1, 2, 5][index % 3] ?? 1) * 10 ** (Math.floor(index / 3) - 3),
);
const wholeSteps = allSteps.filter((step) => step >= 1);

/** The picture of a chart, in the colours of the theme. */
export function ChartCanvas(props: ChartCanvasProps) {
  const { series, shape = "lines", group, intervalMs } = props;
  const { timeZone } = usePreferences();
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const latest = useRef(props);
  latest.current = props;
  const form = JSON.stringify([series.map(({ label, tone, before }) => [label, tone, before !== undefined]), shape]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: what else it needs is read from `latest`
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const made = new uPlot(
      optionsOf(latest, element, timeZone === "utc" || intervalMs >= dayMs),
      dataOf(latest.current),
      element,
    );
    plot.current = made;
    const sizes = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: element.clientHeight }));
    sizes.observe(element);
    const theme = new MutationObserver(() => made.redraw(false));
    theme.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    return () => {
      sizes.disconnect();
      theme.disconnect();
      made.destroy();
    };
  }, [form, timeZone, group, intervalMs]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: these are the parts of the data
  useEffect(() => plot.current?.setData(dataOf(props)), [props.times, series, props.markers]);

  return <div ref={box} className={styles.canvas} />;
}

function optionsOf(
  latest: { readonly current: ChartCanvasProps },
  { clientWidth: width, clientHeight: height }: HTMLElement,
  isUtc: boolean,
): uPlot.Options {
  const { shape = "lines", group, intervalMs } = latest.current;
  const axis: uPlot.Axis = {
    stroke: () => token("--muted"),
    font: `11px ${token("--font")}`,
    grid: { stroke: () => token("--line"), width: 1 },
    ticks: { show: false },
  };
  return {
    width,
    height,
    ms: 1,
    padding: [8, 20, 0, 0], // half of the last time label is outside the plot
    legend: { show: false },
    tzDate: (time) => (isUtc ? uPlot.tzDate(new Date(time), "Etc/UTC") : new Date(time)),
    scales: {
      x: { range: () => edgesOf(latest.current) },
      y: { range: (_, least, most) => rangeOf(Math.min(0, least ?? 0), most ?? 0) },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        space: 64,
        size: 28,
        gap: 8,
        values: (_, times, __, ___, step) => times.map((time) => formatTick(time, step, intervalMs)),
      },
      {
        ...axis,
        space: 36,
        incrs: () => (isWhole(latest.current) ? wholeSteps : allSteps),
        gap: 6,
        size: (_, labels) => sizeOf(labels),
        values: (_, values) => values.map((value) => formatCompact(value)),
      },
    ],
    series: [
      {},
      ...orderOf(latest.current).map(({ tone, isBefore }) =>
        seriesOf(tone, isBefore ? "lines" : shape, isBefore, dashOf(latest.current, tone)),
      ),
    ],
    cursor: {
      y: false,
      points: { size: 7 },
      drag: { x: latest.current.onZoom !== undefined, y: false, setScale: false },
      ...(group !== undefined && { sync: { key: group, scales: ["x", null], filters: { pub: isMove } } }),
    },
    hooks: {
      setCursor: [
        ({ cursor: { idx, left } }) => latest.current.onIndex((left ?? -1) < 0 ? undefined : (idx ?? undefined)),
      ],
      setSelect: [(plot) => zoom(plot, latest.current)],
      draw: [(plot) => fadeUnfinished(plot, latest.current), (plot) => drawMarkers(plot, latest.current)],
    },
  };
}

/** From 0 on, or from below the smallest value. */
function rangeOf(least: number, most: number): [number, number] {
  const [low, high] = uPlot.rangeNum(least, most === least ? least + 1 : most, 0.1, true);
  return [least < 0 ? (low ?? least) : 0, high ?? 1];
}

/** An operator drags a range over one chart; the others only follow the cursor. */
function isMove(event: string): boolean {
  return event === "mousemove" || event === "mouseleave";
}

interface DrawnSeries {
  readonly tone: Tone;
  readonly isBefore: boolean;
  readonly values: readonly (number | undefined)[];
}

/** The highest of a stack is drawn first, so that the others stand before it. The period before is one line above it. */
function orderOf({ series, shape = "lines" }: ChartCanvasProps): readonly DrawnSeries[] {
  const own = series.map(({ tone, values }) => ({ tone, values, isBefore: false }));
  const before = series.flatMap(({ tone, before }) =>
    before === undefined ? [] : [{ tone, values: before, isBefore: true }],
  );
  if (shape === "lines") return [...before, ...own];
  return [...stack(own).toReversed(), ...stack(before).slice(-1)];
}

/** Stacks the series: each gets the cumulative sum. */
function stack(series: readonly DrawnSeries[]): readonly DrawnSeries[] {
  let below: readonly (number | undefined)[] = [];
  return series.map((each) => {
    below = each.values.map((value, index) => (value ?? 0) + (below[index] ?? 0));
    return { ...each, values: below };
  });
}

function isWhole({ series }: ChartCanvasProps): boolean {
  return series.every(({ values }) => values.every((value) => value === undefined || Number.isInteger(value)));
}

function dataOf(props: ChartCanvasProps): uPlot.AlignedData {
  const values = orderOf(props).map((each) => each.values.map((value) => value ?? null));
  return [[...props.times], ...values];
}

function seriesOf(
  tone: Tone,
  shape: TimeChartProps["shape"],
  isBefore: boolean,
  dash: readonly number[],
): uPlot.Series {
  const color = () => token(`--chart-${tone}`);
  const faint = (share: number) => `color-mix(in srgb, ${color()} ${share}%, ${token("--page")})`;
  if (shape === "bars") {
    const paths = uPlot.paths.bars?.({ size: [0.72, 28, 1], radius: 0.15 });
    return { stroke: () => faint(85), fill: () => faint(70), width: 0, paths, points: { show: false } };
  }
  const line = { width: 1.5, points: { show: true, size: 6, filter: listIsolatedPoints } };
  if (isBefore) return { ...line, stroke: () => faint(75), dash: [2, 4] };
  if (shape === "areas") return { ...line, stroke: color, fill: () => faint(28), points: { show: false } };
  return { ...line, stroke: color, dash: [...dash], points: { ...line.points, fill: color } };
}

/** The points without a neighbour, which no line shows. */
function listIsolatedPoints(plot: uPlot, series: number): number[] {
  const values = plot.data[series] ?? [];
  const has = (index: number) => values[index] !== null && values[index] !== undefined;
  return [...values.keys()].filter((index) => has(index) && !has(index - 1) && !has(index + 1));
}

/** From half an interval before the first to half an interval after the last, so that bars have room. */
function edgesOf({ times, intervalMs }: ChartCanvasProps): [number, number] {
  return [(times[0] ?? 0) - intervalMs / 2, (times.at(-1) ?? 0) + intervalMs / 2];
}

function zoom(plot: uPlot, { onZoom, intervalMs }: ChartCanvasProps): void {
  const { left, width } = plot.select;
  if (width <= 0) return;
  const [from, to] = [plot.posToVal(left, "x"), plot.posToVal(left + width, "x")];
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  onZoom?.(Math.round(from / intervalMs) * intervalMs, Math.round(to / intervalMs) * intervalMs + intervalMs);
}

/** The current, incomplete interval is pale, so that its low numbers do not look like a failure. */
function fadeUnfinished(plot: uPlot, { times, intervalMs, shape }: ChartCanvasProps): void {
  const last = times.at(-1);
  if (last === undefined || last + intervalMs <= Date.now()) return;
  const { ctx, bbox } = plot;
  const from = plot.valToPos(last - (shape === "bars" ? intervalMs / 2 : intervalMs), "x", true);
  ctx.save();
  ctx.globalAlpha = shape === "bars" ? 0.4 : 0.6;
  ctx.fillStyle = token("--page");
  ctx.fillRect(from, bbox.top, bbox.left + bbox.width - from, bbox.height);
  ctx.restore();
}

const markerLooks = {
  change: { color: "--text-2", dash: [3, 3], sign: drawTriangle },
  version: { color: "--chart-8", dash: [], sign: drawFlag },
} as const;

/** A marker stands where the numbers of its interval are; versions before changes, so that both signs are seen. */
function drawMarkers(plot: uPlot, { markers, intervalMs }: ChartCanvasProps): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.lineWidth = devicePixelRatio;
  for (const kind of ["version", "change"] as const) {
    const { color, dash, sign } = markerLooks[kind];
    ctx.strokeStyle = token(color);
    ctx.fillStyle = token(color);
    ctx.setLineDash(dash.map((length) => length * devicePixelRatio));
    for (const { at } of markers.filter((marker) => marker.kind === kind)) {
      const x = Math.round(plot.valToPos(Math.floor(at / intervalMs) * intervalMs, "x", true));
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      sign(ctx, x, bbox.top);
    }
  }
  ctx.restore();
}

function drawTriangle(ctx: CanvasRenderingContext2D, x: number, top: number): void {
  const half = 4 * devicePixelRatio;
  ctx.beginPath();
  ctx.moveTo(x - half, top - half);
  ctx.lineTo(x + half, top - half);
  ctx.lineTo(x, top + half);
  ctx.fill();
}

/** Below the triangle of a change in the same interval. */
function drawFlag(ctx: CanvasRenderingContext2D, x: number, top: number): void {
  const [length, half, from] = [10 * devicePixelRatio, 4 * devicePixelRatio, top + 5 * devicePixelRatio];
  ctx.beginPath();
  ctx.moveTo(x, from);
  ctx.lineTo(x + length, from + half);
  ctx.lineTo(x, from + 2 * half);
  ctx.fill();
}

function sizeOf(labels: readonly string[] | null): number {
  return 16 + 7 * Math.max(2, ...(labels ?? []).map(({ length }) => length));
}

function token(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name);
}
