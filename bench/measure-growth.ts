import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Engine } from "./engine.ts";
import { type Fixture, startFixture } from "./fixture.ts";
import { type GrownSizes, grow } from "./growth-fill.ts";
import { runFreshLoad } from "./load.ts";
import type { RequestShape } from "./load-plan.ts";
import type { Options } from "./options.ts";
import { formatMany, type Row } from "./report.ts";
import { type Scenario, scenarios } from "./scenarios.ts";
import { startServer } from "./server-process.ts";
import { columnsOf, measureInTurns, withCpuTime } from "./turns.ts";

/** The sizes of `--scale 100`. */
const fullSizes: GrownSizes = { applications: 10_000, users: 1_000_000, devices: 100_000, checkins: 10_000_000 };
/** Not empty, so that a page has rows of other users too. */
const smallSizes: GrownSizes = { applications: 10, users: 100, devices: 100, checkins: 1_000 };
const factorGoal = 1.5;
/** The scenarios whose ceilings are files or hashes alone. */
const leftOut = ["sign-up", "file-put", "file-get"];

type GrowthScenario = Pick<
  Scenario,
  "key" | "name" | "status" | "request" | "connectionsMax" | "numbersMax" | "isSlow"
>;

const searches = ["created", "distance"].map(
  (sortOrder): GrowthScenario => ({
    key: `circle-${sortOrder}`,
    name: `50 km, 20 by ${sortOrder}`,
    status: 200,
    request: ({ reader }): RequestShape => ({
      method: "GET",
      path: `/checkins?pageSize=20&locationRange=48.2,16.4,50000&sortOrder=${sortOrder}`,
      token: reader.token,
    }),
  }),
);

const growthScenarios = [...scenarios.filter(({ key }) => !leftOut.includes(key)), ...searches];

/** The names of the rows that only this table has. */
export const growthNames: readonly string[] = searches.map(({ key }) => key);

/**
 * Each scenario on a small database and on a grown one, in turns: the processor time of server and database for a
 * request, and its ratio.
 */
export async function measureGrowth(engine: Engine, options: Options, report: (line: string) => void): Promise<Row[]> {
  const small = await startGrown(engine, smallSizes, report);
  const sizes = scaled(fullSizes, options.scalePercent);
  const { grownFolder } = options;
  const large = await (grownFolder === undefined
    ? startGrown(engine, sizes, report)
    : startKept(engine, sizes, grownFolder, report));
  const rows: Row[] = [];
  const isAsked = (key: string) => options.only.length === 0 || options.only.includes(key);
  for (const scenario of growthScenarios.filter(({ key }) => isAsked(key))) {
    rows.push(await compare(scenario, small, large, options));
    report(`${scenario.name}: × ${rows.at(-1)?.factor?.toFixed(2)}`);
  }
  await small.server.stop();
  await large.server.stop();
  return rows;
}

function scaled({ applications, users, devices, checkins }: GrownSizes, percent: number): GrownSizes {
  const scale = (count: number) => Math.ceil((count * percent) / 100);
  return {
    applications: scale(applications),
    users: scale(users),
    devices: scale(devices),
    checkins: scale(checkins),
  };
}

async function startGrown(engine: Engine, sizes: GrownSizes, report: (line: string) => void): Promise<Fixture> {
  const fixture = await startFixture(engine, async () => {});
  await fixture.server.stop();
  await grow(fixture.deployment, fixture.credentials.appid, sizes, report);
  return { ...fixture, server: await startServer(fixture.deployment.settings) };
}

/** The grown database of an earlier run, or a new one for later runs. */
async function startKept(
  engine: Engine,
  sizes: GrownSizes,
  folder: string,
  report: (line: string) => void,
): Promise<Fixture> {
  const deployment = { settings: { DATA_DIR: path.join(folder, "data") } };
  const file = path.join(folder, "fixture.json");
  if (existsSync(file)) {
    const kept: Kept = JSON.parse(readFileSync(file, "utf8"));
    if (JSON.stringify(kept.sizes) !== JSON.stringify(sizes)) throw new Error(`${file} is of another --scale`);
    return { ...kept.fixture, engine, deployment, server: await startServer(deployment.settings) };
  }
  const grown = await startGrown({ ...engine, newDeployment: async () => deployment }, sizes, report);
  const { engine: _, server: __, deployment: ___, ...fixture } = grown;
  writeFileSync(file, JSON.stringify({ sizes, fixture } satisfies Kept));
  return { ...grown, engine };
}

/** What the tokens and ids of a kept database are. */
interface Kept {
  readonly sizes: GrownSizes;
  readonly fixture: Omit<Fixture, "engine" | "server" | "deployment">;
}

async function compare(scenario: GrowthScenario, small: Fixture, large: Fixture, options: Options): Promise<Row> {
  function measure(fixture: Fixture, seconds: number) {
    const { numbersMax, connectionsMax = options.connections, status } = scenario;
    const plan = {
      port: fixture.server.port,
      request: scenario.request(fixture),
      status,
      connections: Math.min(options.connections, connectionsMax),
      seconds,
      numbersMax,
    };
    const cpuSeconds = () => fixture.server.cpuSeconds() + fixture.engine.cpuSeconds();
    return withCpuTime(cpuSeconds, () => runFreshLoad(plan, scenario.isSlow ? "own" : undefined));
  }
  for (const fixture of [small, large]) await measure(fixture, options.warmUpSeconds);
  const { pairs, ratio, median } = await measureInTurns(
    options,
    () => measure(small, options.seconds),
    () => measure(large, options.seconds),
    (onSmall, onLarge) => onLarge.cpuMicros / onSmall.cpuMicros,
  );
  return {
    name: scenario.name,
    measured: `${formatMany(median(({ own }) => own.perSecond))}/s`,
    ...columnsOf(pairs.map(({ own }) => own)),
    against: `small ${median(({ base }) => base.cpuMicros).toFixed(0)} µs`,
    factor: ratio,
    goal: { text: `≤ × ${factorGoal}`, isMet: ratio <= factorGoal },
    details: { pairs },
  };
}
