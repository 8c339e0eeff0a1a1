/** Injects faults into real servers under load, and counts lost writes: `npm run test:faults`. */
import { parseArgs, styleText } from "node:util";
import { cleanUpAtExit, endEverything, isInterrupted } from "../testkit/children.ts";
import { clientKillsOnPostgres, clientKillsOnSqlite } from "./client/kills.ts";
import { lostAnswers } from "./client/lost-answers.ts";
import { formatResult, formatTable, type Result } from "./report.ts";
import type { Effort, Scenario } from "./scenario.ts";
import { scenarios as serverScenarios } from "./scenarios.ts";
import { createTally, isWhole, type Tally } from "./tally.ts";

const usage = `Usage: npm run test:faults -- [options]

Injects faults into real servers under load (kill -9, a database outage, a full disk, a clock that steps back, lying
clients), verifies every answered write, and counts what was lost.

  --only TEXT          run the scenarios with this text in their name; may be given several times
  --kills N            total number of kills of the server (200)
  --long               200 kills and 50 clients in the scenarios of the client, instead of 20 and 20; 10,000 streams, instead
                       of 2,000
  --seed N             of the random choices in the scenarios of the client (1); "random" chooses one
  --list               print the names of the scenarios
  --json               print the result as one JSON document
  --help               print this text

The exit code is 0 without failures, 1 with failures, 2 when the command is wrong.
`;

/** The share of the kills that run on PostgreSQL, where each takes longer. */
const postgresShare = 0.35;
const progressMs = 250;
const scenarios = [...serverScenarios, clientKillsOnSqlite, lostAnswers, clientKillsOnPostgres];

/** The current scenario, on one line of a terminal that is overwritten. */
const running = new Map<Scenario, Tally>();

const options = readOptions();
if (options !== undefined) {
  cleanUpAtExit();
  try {
    await run(options);
  } catch (error) {
    if (!isInterrupted()) throw error;
  } finally {
    await endEverything();
  }
  process.exit(); // a failed scenario may leave open handles
}

async function run({ chosen, effort, isJson }: { chosen: readonly Scenario[]; effort: Effort; isJson: boolean }) {
  const results: Result[] = [];
  const runAndReport = async (scenario: Scenario) => {
    const result = await runScenario(scenario, effort, isJson);
    results.push(result);
    if (!isJson) console.log(`${process.stdout.isTTY ? "\r\x1b[K" : ""}${formatResult(result)}`);
  };
  const progress = setInterval(showProgress, progressMs);
  await Promise.all(chosen.filter(({ isTimed }) => !isTimed).map(runAndReport));
  for (const scenario of chosen.filter(({ isTimed }) => isTimed)) await runAndReport(scenario);
  clearInterval(progress);
  console.log(isJson ? JSON.stringify({ results }, null, 2) : formatTable(results));
  if (!results.every(({ tally }) => isWhole(tally))) process.exitCode = 1;
}

function showProgress(): void {
  if (!process.stdout.isTTY) return;
  const texts = [...running].map(
    ([{ name }, { faults, checks, lost }]) => `${name}: ${faults} faults, ${checks} checks, ${lost.length} lost`,
  );
  process.stdout.write(`\r\x1b[K${styleText("dim", texts.join("   "))}`);
}

async function runScenario(scenario: Scenario, effort: Effort, isQuiet: boolean): Promise<Result> {
  const { name, promise } = scenario;
  const tally = createTally();
  const skipped = scenario.findObstacle?.();
  const startedAt = performance.now();
  const seconds = () => (performance.now() - startedAt) / 1000;
  if (skipped !== undefined) return { name, promise, tally, seconds: 0, skipped };
  if (!isQuiet) running.set(scenario, tally);
  try {
    await scenario.run(tally, effort);
  } catch (error) {
    if (isInterrupted()) throw error;
    tally.wrong.push(`the scenario was aborted: ${error instanceof Error ? error.message : error}`);
  } finally {
    running.delete(scenario);
    showProgress();
  }
  return { name, promise, tally, seconds: seconds(), skipped };
}

/** Undefined when there is no scenario to run. */
function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        only: { type: "string", multiple: true },
        kills: { type: "string" },
        long: { type: "boolean" },
        seed: { type: "string" },
        list: { type: "boolean" },
        json: { type: "boolean" },
        help: { type: "boolean" },
      },
    });
    const {
      only = [""],
      kills: text = "200",
      long: isLong = false,
      list = false,
      json: isJson = false,
      help = false,
    } = values;
    if (help) process.stdout.write(usage);
    if (list) for (const { name, promise } of scenarios) console.log(`${name}: ${promise}`);
    if (help || list) return undefined;
    const kills = Number(text);
    if (!/^[1-9]\d{0,5}$/.test(text)) throw new Error(`--kills must be a number, not ${text}`);
    const seed = values.seed === "random" ? Math.floor(Math.random() * 1e9) : Number(values.seed ?? "1");
    if (!Number.isSafeInteger(seed) || seed < 0)
      throw new Error(`--seed must be a number or random, not ${values.seed}`);
    const isChosen = ({ name }: Scenario) => only.some((part) => name.toLowerCase().includes(part.toLowerCase()));
    const chosen = scenarios.filter(isChosen);
    if (chosen.length === 0) throw new Error(`no scenario matches ${only.join(", ")}; --list prints their names`);
    const postgres = Math.floor(kills * postgresShare);
    return { chosen, effort: { kills: { sqlite: kills - postgres, postgres }, isLong, seed }, isJson };
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${usage}`);
    process.exitCode = 2;
    return undefined;
  }
}
