import { setTimeout as delay } from "node:timers/promises";
import { check, startGenerator } from "./load.ts";
import type { LoadPlan, LoadResult } from "./load-plan.ts";
import type { Options } from "./options.ts";
import { untilQuiet } from "./quiet.ts";
import { formatMany, type Row } from "./report.ts";
import { median } from "./statistics.ts";

const fillSeconds = 1;

/** A load that is measured alone, and while the server is busy with a background load. */
export interface Neighbours {
  /** The name of its row. */
  readonly name: string;
  /** Keeps the server busy. */
  readonly beside: string;
  /** Runs from a second before the measurement. */
  readonly background: LoadPlan;
  /** How many times as long the p99 may become. */
  readonly factorGoal: number;
  measure(): Promise<LoadResult>;
}

/** The effect of the background on the p99 of a load, measured with and without it in turns. */
export async function compareBeside(
  { name, beside, background, factorGoal, measure }: Neighbours,
  options: Options,
  report: (progress: string) => void,
): Promise<Row> {
  const generator = startGenerator();
  const plan = { ...background, seconds: options.seconds + fillSeconds };

  async function measureBeside() {
    const answered = generator.ask(plan);
    answered.catch(() => {}); // awaited below
    await delay(fillSeconds * 1000);
    const during = await measure();
    return { during, [beside]: check(plan, await answered), besidePerSecond: (await answered).perSecond };
  }

  await measure(); // warms up
  const pairs = [];
  for (let run = 1; run <= options.runs; run += 1) {
    await untilQuiet(options.patienceSeconds);
    const alone = await measure();
    await untilQuiet(options.patienceSeconds);
    const pair = { alone, ...(await measureBeside()) };
    const factor = pair.during.p99Ms / alone.p99Ms;
    pairs.push({ factor, ...pair });
    report(
      `${name}: p99 ${alone.p99Ms.toFixed(2)} ms alone, ${pair.during.p99Ms.toFixed(2)} ms ` +
        `during ${formatMany(pair.besidePerSecond)} ${beside}/s; × ${factor.toFixed(2)}`,
    );
  }
  await generator.end();
  const factor = median(pairs.map((pair) => pair.factor));
  const aloneP99Ms = median(pairs.map(({ alone }) => alone.p99Ms));
  return {
    name,
    measured: `${formatMany(median(pairs.map(({ during }) => during.perSecond)))}/s`,
    p50Ms: median(pairs.map(({ during }) => during.p50Ms)),
    p99Ms: median(pairs.map(({ during }) => during.p99Ms)),
    against: `p99 alone ${aloneP99Ms.toFixed(2)} ms`,
    factor,
    goal: { text: `p99 ≤ × ${factorGoal}`, isMet: factor <= factorGoal },
    details: { pairs },
  };
}
