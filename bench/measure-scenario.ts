import type { Fixture } from "./fixture.ts";
import { runLoad } from "./load.ts";
import type { LoadPlan } from "./load-plan.ts";
import type { Options } from "./options.ts";
import { untilQuiet } from "./quiet.ts";
import { formatMany, formatPercent, type Row } from "./report.ts";
import type { Goal, Scenario } from "./scenarios.ts";
import { median } from "./statistics.ts";

/** The distance between the numbers of two loads, so that unique values stay unique. */
const numbersPerLoad = 10_000_000;
let loads = 0;

/**
 * Measures a scenario and its ceiling in turns (ceiling, scenario, ceiling, scenario …), so that both meet the same
 * conditions of the machine. The ratio is the median of the ratios of the pairs.
 */
export async function measureScenario(
  scenario: Scenario,
  fixture: Fixture,
  options: Options,
  report: (progress: string) => void,
): Promise<Row> {
  const { name, goals } = scenario;
  const goal = goals?.[fixture.engine.name];
  const connections = Math.min(options.connections, scenario.connectionsMax ?? options.connections);
  const request = scenario.request(fixture);
  const ceiling = await scenario.startCeiling(fixture, request, connections);

  function measureLoad(seconds: number) {
    const { numbersMax = 10_000_000_000, status } = scenario;
    loads += 1;
    const firstNumber = (loads * numbersPerLoad) % numbersMax;
    const plan: LoadPlan = {
      port: fixture.server.port,
      request,
      status,
      connections,
      seconds,
      firstNumber,
      numbersMax,
    };
    return scenario.isSlow ? runLoad(plan, "own") : runLoad(plan);
  }

  await ceiling.measure(options.warmUpSeconds);
  await measureLoad(options.warmUpSeconds);

  const pairs = [];
  for (let run = 1; run <= options.runs; run += 1) {
    await untilQuiet(options.patienceSeconds);
    const raw = await ceiling.measure(options.seconds);
    await untilQuiet(options.patienceSeconds);
    const cpuBefore = fixture.server.cpuSeconds();
    const load = await measureLoad(options.seconds);
    const cpuMicros = ((fixture.server.cpuSeconds() - cpuBefore) / load.requests) * 1e6;
    const ratio = load.perSecond / raw.perSecond;
    pairs.push({ ratio, ceiling: raw, load, cpuMicros });
    report(
      `${formatMany(load.perSecond)}/s, p99 ${load.p99Ms.toFixed(1)} ms; ` +
        `${ceiling.name} ${formatMany(raw.perSecond)}/s; ${formatPercent(ratio)}`,
    );
  }
  await ceiling.end();

  const perSecond = median(pairs.map(({ load }) => load.perSecond));
  const ratio = median(pairs.map((pair) => pair.ratio));
  const ceilingPerSecond = median(pairs.map((pair) => pair.ceiling.perSecond));
  return {
    name,
    measured: `${formatMany(perSecond)}/s`,
    p50Ms: median(pairs.map(({ load }) => load.p50Ms)),
    p99Ms: median(pairs.map(({ load }) => load.p99Ms)),
    cpuMicros: median(pairs.map((pair) => pair.cpuMicros)),
    against: `${ceiling.name} ${formatMany(ceilingPerSecond)}/s`,
    ratio,
    ...(goal !== undefined && { goal: judge(goal, perSecond, ratio) }),
    details: { connections, perSecond, ceiling: ceiling.name, ceilingPerSecond, pairs },
  };
}

function judge(goal: Goal, perSecond: number, ratio: number): NonNullable<Row["goal"]> {
  return "ratio" in goal
    ? { text: `≥ ${formatPercent(goal.ratio)}`, isMet: ratio >= goal.ratio }
    : { text: `≥ ${formatMany(goal.perSecond)}/s`, isMet: perSecond >= goal.perSecond };
}
