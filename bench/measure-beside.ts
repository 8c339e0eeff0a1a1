import { setTimeout as delay } from "node:timers/promises";
import { check, startGenerator } from "./load.ts";
import type { LoadPlan, LoadResult } from "./load-plan.ts";
import type { Options } from "./options.ts";
import { formatMany, type Row } from "./report.ts";
import { columnsOf, measureInTurns } from "./turns.ts";

const fillSeconds = 1;

/** Work that keeps the server busy. It must be stopped. */
export interface Background {
  /** Describes what it has done, for the progress. */
  stop(): Promise<string>;
}

/** A load that is measured alone, and while the server is busy with something else. */
export interface Neighbours {
  /** The name of its row. */
  readonly name: string;
  /** How many times as long the p99 may become. */
  readonly factorGoal: number;
  /** Raw figures of the background at the end, for the JSON. */
  details?(): object;
  begin(): Promise<Background>;
  measure(): Promise<LoadResult>;
}

/** The effect of the background on the p99 of a load, measured with and without it in turns. */
export async function compareBeside(
  { name, factorGoal, details, begin, measure }: Neighbours,
  options: Options,
  report: (progress: string) => void,
): Promise<Row> {
  let done = "";
  async function measureBeside(): Promise<LoadResult> {
    const background = await begin();
    try {
      return await measure();
    } finally {
      done = await background.stop();
    }
  }
  await measure(); // warms up
  const { pairs, ratio, median } = await measureInTurns(
    options,
    measure,
    measureBeside,
    (alone, during) => during.p99Ms / alone.p99Ms,
    ({ base, own, ratio }) =>
      report(
        `${name}: p99 ${base.p99Ms.toFixed(2)} ms alone, ${own.p99Ms.toFixed(2)} ms ${done}; × ${ratio.toFixed(2)}`,
      ),
  );
  return {
    name,
    measured: `${formatMany(median(({ own }) => own.perSecond))}/s`,
    ...columnsOf(pairs.map(({ own }) => own)),
    against: `p99 alone ${median(({ base }) => base.p99Ms).toFixed(2)} ms`,
    factor: ratio,
    goal: { text: `p99 ≤ × ${factorGoal}`, isMet: ratio <= factorGoal },
    details: { pairs, ...details?.() },
  };
}

/** A load in the background, from a second before the measurement. */
export async function beginLoad(plan: LoadPlan, what: string): Promise<Background> {
  const generator = startGenerator();
  const answered = generator.ask({ ...plan, seconds: plan.seconds + fillSeconds });
  answered.catch(() => {}); // awaited by stop
  await delay(fillSeconds * 1000);
  return {
    async stop() {
      const { perSecond } = check(plan, await answered);
      await generator.end();
      return `during ${formatMany(perSecond)} ${what}/s`;
    },
  };
}
