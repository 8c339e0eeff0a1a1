import type { Fixture } from "./fixture.ts";
import type { LoadResult } from "./load-plan.ts";
import type { Options } from "./options.ts";
import { untilQuiet } from "./quiet.ts";
import type { Row } from "./report.ts";

/** Measures something on a running server. @param report prints a line of progress */
export type Measure = (fixture: Fixture, options: Options, report: (line: string) => void) => Promise<Row | Row[]>;

/** A baseline and what is compared with it. */
interface Pair<Base, Own> {
  readonly base: Base;
  readonly own: Own;
  /** A share of the baseline, or a multiple of it. */
  readonly ratio: number;
}

interface Turns<Base, Own> {
  readonly pairs: readonly Pair<Base, Own>[];
  /** The median of the ratios. */
  readonly ratio: number;
  /** The median of a figure of the pairs. */
  median(figure: (pair: Pair<Base, Own>) => number): number;
}

/**
 * Measures a baseline and something else in turns, each on a quiet machine, so that both meet the same conditions.
 *
 * @param alternates whether every second pair begins with the other: the second measurement may meet a larger database
 */
export async function measureInTurns<Base, Own>(
  { runs, patienceSeconds, alternates = false }: Pick<Options, "runs" | "patienceSeconds"> & { alternates?: boolean },
  measureBase: () => Promise<Base>,
  measureOwn: () => Promise<Own>,
  ratioOf: (base: Base, own: Own) => number,
  report: (pair: Pair<Base, Own>) => void = () => {},
): Promise<Turns<Base, Own>> {
  const pairs: Pair<Base, Own>[] = [];
  async function quietly<Result>(measure: () => Promise<Result>): Promise<Result> {
    await untilQuiet(patienceSeconds);
    return measure();
  }
  for (let run = 0; run < runs; run += 1) {
    const isSwapped = alternates && run % 2 === 1;
    const early = isSwapped ? await quietly(measureOwn) : undefined;
    const base = await quietly(measureBase);
    const own = early ?? (await quietly(measureOwn));
    const pair = { ratio: ratioOf(base, own), base, own };
    pairs.push(pair);
    report(pair);
  }
  const medianOf = (figure: (pair: Pair<Base, Own>) => number) => median(pairs.map(figure));
  return { pairs, ratio: medianOf(({ ratio }) => ratio), median: medianOf };
}

/** Measures the same several times, each time on a quiet machine. */
export async function repeat<Result>(
  { runs, patienceSeconds }: Pick<Options, "runs" | "patienceSeconds">,
  measure: () => Promise<Result>,
  report: (result: Result) => void = () => {},
): Promise<Result[]> {
  const results: Result[] = [];
  for (let run = 0; run < runs; run += 1) {
    await untilQuiet(patienceSeconds);
    const result = await measure();
    results.push(result);
    report(result);
  }
  return results;
}

/** Adds the processor time for a request. @param cpuSeconds of the processes that answer, so far */
export async function withCpuTime<Result extends { readonly requests: number }>(
  cpuSeconds: () => number,
  measure: () => Promise<Result>,
): Promise<Result & { readonly cpuMicros: number }> {
  const before = cpuSeconds();
  const result = await measure();
  return { ...result, cpuMicros: ((cpuSeconds() - before) / result.requests) * 1e6 };
}

/** The median latencies and processor time of several loads, as a row shows them. */
export function columnsOf(
  loads: readonly (LoadResult & { readonly cpuMicros?: number })[],
): Pick<Row, "p50Ms" | "p99Ms" | "cpuMicros"> {
  const cpuMicros = loads.flatMap((load) => load.cpuMicros ?? []);
  return {
    p50Ms: median(loads.map(({ p50Ms }) => p50Ms)),
    p99Ms: median(loads.map(({ p99Ms }) => p99Ms)),
    ...(cpuMicros.length > 0 && { cpuMicros: median(cpuMicros) }),
  };
}

/** The middle value; the mean of the two middle values of an even number. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = Math.floor(sorted.length / 2);
  const upper = sorted[half] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? Number.NaN) + upper) / 2;
}
