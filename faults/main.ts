/** Lets things go wrong with real servers under load, and counts what is lost: `npm run test:faults`. */
import { parseArgs, styleText } from "node:util";
import { cleanUpAtExit, endEverything, isInterrupted } from "../bench/children.ts";
import { formatResult, formatTable, type Result } from "./report.ts";
import type { Effort, Scenario } from "./scenario.ts";
import { scenarios } from "./scenarios.ts";
import { createTally, isWhole } from "./tally.ts";

const usage = `Usage: npm run test:faults -- [options]

Lets things go wrong with real servers under load (kill -9, a database that goes away, a full disk, a clock that steps
back, clients that lie), checks every answered write, and counts what was lost.

  --only TEXT          scenarios with this in their name; may be given several times
  --kills N            kills of the server in all (200)
  --list               the names of the scenarios
  --json               the result as one JSON document
  --help               this text

The exit code is 0 when nothing was lost or wrong, 1 when something was, 2 when the command is wrong.
`;

/** A part of the kills is for PostgreSQL: they take longer there. */
const postgresShare = 0.35;

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
  process.exit(); // whatever a scenario that failed has left
}

async function run({ chosen, effort, isJson }: { chosen: readonly Scenario[]; effort: Effort; isJson: boolean }) {
  const results: Result[] = [];
  const runAndReport = async (scenario: Scenario) => {
    const result = await runScenario(scenario, effort, isJson);
    results.push(result);
    if (!isJson) console.log(formatResult(result));
  };
  await Promise.all(chosen.filter(({ isTimed }) => !isTimed).map(runAndReport));
  for (const scenario of chosen.filter(({ isTimed }) => isTimed)) await runAndReport(scenario);
  console.log(isJson ? JSON.stringify({ results }, null, 2) : formatTable(results));
  if (!results.every(({ tally }) => isWhole(tally))) process.exitCode = 1;
}

async function runScenario(scenario: Scenario, effort: Effort, isQuiet: boolean): Promise<Result> {
  const { name, promise } = scenario;
  const tally = createTally();
  const skipped = scenario.findObstacle?.();
  const startedAt = performance.now();
  const seconds = () => (performance.now() - startedAt) / 1000;
  if (skipped !== undefined) return { name, promise, tally, seconds: 0, skipped };
  const isLive = process.stdout.isTTY && !isQuiet;
  const progress = setInterval(() => {
    const { faults, answered, checks, lost } = tally;
    const text = `  ${name}: ${faults} faults, ${answered} answered, ${checks} checked, ${lost.length} lost`;
    if (isLive) process.stdout.write(`\r\x1b[K${styleText("dim", text)}`);
  }, 250);
  try {
    await scenario.run(tally, effort);
  } catch (error) {
    if (isInterrupted()) throw error;
    tally.wrong.push(`it did not come to its end: ${error instanceof Error ? error.message : error}`);
  } finally {
    clearInterval(progress);
    if (isLive) process.stdout.write("\r\x1b[K");
  }
  return { name, promise, tally, seconds: seconds(), skipped };
}

/** Undefined when there is nothing to run. */
function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        only: { type: "string", multiple: true },
        kills: { type: "string" },
        list: { type: "boolean" },
        json: { type: "boolean" },
        help: { type: "boolean" },
      },
    });
    const { only = [""], kills: text = "200", list = false, json: isJson = false, help = false } = values;
    if (help) process.stdout.write(usage);
    if (list) for (const { name, promise } of scenarios) console.log(`${name}: ${promise}`);
    if (help || list) return undefined;
    const kills = Number(text);
    if (!/^[1-9]\d{0,5}$/.test(text)) throw new Error(`--kills must be a number, not ${text}`);
    const isChosen = ({ name }: Scenario) => only.some((part) => name.toLowerCase().includes(part.toLowerCase()));
    const chosen = scenarios.filter(isChosen);
    if (chosen.length === 0) throw new Error(`there is no scenario ${only.join(", ")}`);
    const postgres = Math.floor(kills * postgresShare);
    return { chosen, effort: { kills: { sqlite: kills - postgres, postgres } }, isJson };
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${usage}`);
    process.exitCode = 2;
    return undefined;
  }
}
