import { setTimeout as delay } from "node:timers/promises";
import { type Fixture, loginUsersMax } from "./fixture.ts";
import { check, preferredTool, runLoad, startGenerator } from "./load.ts";
import type { LoadPlan, LoadResult } from "./load-plan.ts";
import type { Options } from "./options.ts";
import { untilQuiet } from "./quiet.ts";
import { formatMany, type Row } from "./report.ts";
import { loginRequest, ownProfileRequest } from "./scenarios.ts";
import { median } from "./statistics.ts";

/** The queue holds 256 besides the hashes under way: it is full, and nobody is refused. */
const loginConnections = 256;
const fillSeconds = 1;
const factorGoal = 2;
const ratePerSecond = 1_000;
const rateConnections = 32;

/**
 * What logins that saturate the hash queue do to the p99 of GET /users/me, once at a moderate rate and once with
 * everything that the connections can ask for; each alone and during logins in turns.
 */
export async function measureLogins(
  fixture: Fixture,
  options: Options,
  report: (progress: string) => void,
): Promise<Row[]> {
  const { port } = fixture.server;
  const numbers = { firstNumber: 0, numbersMax: loginUsersMax };
  const { seconds } = options;
  const me = { port, request: ownProfileRequest(fixture), status: 200, seconds, ...numbers };
  const logins: LoadPlan = {
    port,
    request: loginRequest(fixture),
    status: 200,
    connections: loginConnections,
    seconds: seconds + fillSeconds,
    ...numbers,
  };
  const background = startGenerator();

  async function measureDuringLogins(measure: () => Promise<LoadResult>) {
    const answered = background.ask(logins);
    answered.catch(() => {}); // awaited below
    await delay(fillSeconds * 1000);
    const during = await measure();
    return { during, logins: check(logins, await answered) };
  }

  async function compare(name: string, measure: () => Promise<LoadResult>): Promise<Row> {
    await measure(); // warms up
    const pairs = [];
    for (let run = 1; run <= options.runs; run += 1) {
      await untilQuiet(options.patienceSeconds);
      const alone = await measure();
      await untilQuiet(options.patienceSeconds);
      const pair = { alone, ...(await measureDuringLogins(measure)) };
      const factor = pair.during.p99Ms / alone.p99Ms;
      pairs.push({ factor, ...pair });
      report(
        `${name}: p99 ${alone.p99Ms.toFixed(2)} ms alone, ${pair.during.p99Ms.toFixed(2)} ms ` +
          `during ${formatMany(pair.logins.perSecond)} logins/s; × ${factor.toFixed(2)}`,
      );
    }
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

  const rows = [
    await compare(`me during logins, ${formatMany(ratePerSecond)}/s`, () =>
      runLoad({ ...me, connections: rateConnections, ratePerSecond }, "own"),
    ),
    await compare("me during logins, at full speed", () =>
      runLoad({ ...me, connections: options.connections }, preferredTool()),
    ),
  ];
  await background.end();
  return rows;
}
