import type { Fixture } from "./fixture.ts";
import { runFreshLoad } from "./load.ts";
import type { LoadPlan } from "./load-plan.ts";
import type { Options } from "./options.ts";
import { formatMany, formatPercent, type Row } from "./report.ts";
import type { Goal, Scenario } from "./scenarios.ts";
import { columnsOf, measureInTurns, withCpuTime } from "./turns.ts";

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
    const { numbersMax, status } = scenario;
    const plan: LoadPlan = { port: fixture.server.port, request, status, connections, seconds, numbersMax };
    return runFreshLoad(plan, scenario.isSlow ? "own" : undefined);
  }

  await ceiling.measure(options.warmUpSeconds);
  await measureLoad(options.warmUpSeconds);

  const { pairs, ratio, median } = await measureInTurns(
    options,
    () => ceiling.measure(options.seconds),
    () => withCpuTime(fixture.server.cpuSeconds, () => measureLoad(options.seconds)),
    (raw, load) => load.perSecond / raw.perSecond,
    ({ base, own, ratio }) =>
      report(
        `${formatMany(own.perSecond)}/s, p99 ${own.p99Ms.toFixed(1)} ms; ` +
          `${ceiling.name} ${formatMany(base.perSecond)}/s; ${formatPercent(ratio)}`,
      ),
  );
  await ceiling.end();

  const perSecond = median(({ own }) => own.perSecond);
  const ceilingPerSecond = median(({ base }) => base.perSecond);
  return {
    name,
    measured: `${formatMany(perSecond)}/s`,
    ...columnsOf(pairs.map(({ own }) => own)),
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
