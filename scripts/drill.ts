/** Rolling upgrades, new secrets and certificates, and kills in two regions behind proxies, under load: `npm run drill`. */
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { formatResult, formatTable, type Result } from "../faults/report.ts";
import { createTally, isWhole, type Tally } from "../faults/tally.ts";
import { cleanUpAtExit, endEverything, isInterrupted } from "../testkit/children.ts";
import { runCli } from "../testkit/deployment.ts";
import { findHaproxy } from "./drill/haproxy.ts";
import { beginLoad, type Load } from "./drill/load.ts";
import { processNames, type Region, startRegions } from "./drill/region.ts";

const usage = `Usage: npm run drill -- [options]

Starts two regions on this machine, each with a PostgreSQL, two processes and HAProxy (deploy/haproxy.cfg), and puts load on
them: upgrades every process in turn, rotates the secrets, changes the certificates, and kills a process every ten seconds. Every call must be
answered, with a success or with 503 and Retry-After, and every answered write must be there at the end.

  --seconds N          duration of the kills, at least 10 (60); the rest takes about three minutes
  --json               print the result as one JSON document
  --help               print this text

The exit code is 0 without failures, 1 with failures, 2 when the command is wrong or HAProxy is missing.
`;

type Regions = readonly [Region, Region];

/** A part of the drill, under load. */
interface Part {
  readonly name: string;
  readonly promise: string;
  happen(regions: Regions, tally: Tally, seconds: number): Promise<void>;
}

const promise = "every call is answered, no answered write is lost, nothing is done twice";
const calmMs = 5_000;
const killEverySeconds = 10;

const parts: readonly Part[] = [
  { name: "load alone", promise, happen: () => sleep(calmMs) },
  {
    name: "rolling upgrade",
    promise,
    async happen(regions, tally) {
      for (const region of regions) for (const process of processNames) await region.replace(process, tally);
    },
  },
  {
    name: "new secret",
    promise,
    async happen(regions, tally) {
      for (const region of regions) await region.rotateSecret(tally);
    },
  },
  {
    name: "new certificate",
    promise,
    async happen(regions, tally) {
      for (const { proxy } of regions) {
        await proxy.changeCertificate("b");
        tally.faults += 1;
        await sleep(calmMs / 2);
      }
    },
  },
  {
    name: "kill -9",
    promise,
    async happen(regions, tally, seconds) {
      const targets = processNames.flatMap((process) => regions.map((region) => ({ region, process })));
      const startedAt = performance.now();
      for (let kill = 1; kill <= seconds / killEverySeconds; kill += 1) {
        await sleep(Math.max(0, startedAt + kill * killEverySeconds * 1000 - performance.now()));
        const target = targets[kill % targets.length];
        await target?.region.kill(target.process, tally);
      }
    },
  },
];

const options = readOptions();
const haproxy = findHaproxy();
if (options !== undefined && haproxy === undefined) {
  console.error("The drill needs HAProxy 2.6 or later: apt-get install haproxy");
  process.exitCode = 2;
} else if (options !== undefined && haproxy !== undefined) {
  cleanUpAtExit();
  try {
    await run(haproxy, options);
  } catch (error) {
    if (!isInterrupted()) throw error;
  } finally {
    await endEverything();
  }
  process.exit(); // a failed part may leave open handles
}

async function run(haproxy: string, { seconds, isJson }: { seconds: number; isJson: boolean }): Promise<void> {
  const say = (text: string) => {
    if (!isJson) console.log(text);
  };
  say("Starting two regions …");
  const regions = await startRegions(haproxy);
  const [main, other] = regions;
  const { appid } = other.deployment.application;
  await runCli(main.deployment.settings, ...["apps", "locate", appid, "--region", other.name, "--json"]);
  const results: Result[] = [];
  const loads: Load[] = [];
  for (const part of parts) {
    say(`${part.name} …`);
    const tally = createTally();
    const startedAt = performance.now();
    loads.push(await runPart(part, regions, tally, seconds));
    results.push({ ...part, tally, seconds: (performance.now() - startedAt) / 1000, skipped: undefined });
  }
  say("Reading back every answered write …\n");
  for (const load of loads) await load.check();
  const end = createTally();
  for (const region of regions) await region.end(end);
  results.at(-1)?.tally.wrong.push(...end.wrong);
  for (const result of results) say(formatResult(result));
  console.log(isJson ? JSON.stringify({ results }, null, 2) : formatTable(results));
  if (!results.every(({ tally }) => isWhole(tally))) process.exitCode = 1;
}

/** Runs a part while clients call, and counts in the tally what they observe. */
async function runPart(part: Part, regions: Regions, tally: Tally, seconds: number): Promise<Load> {
  const load = await beginLoad(regions, tally);
  const stop = new AbortController();
  const running = load.run(stop.signal);
  try {
    await part.happen(regions, tally, seconds);
  } finally {
    stop.abort();
    await running;
  }
  return load;
}

/** Undefined when there is no scenario to run. */
function readOptions() {
  try {
    const { values } = parseArgs({
      options: { seconds: { type: "string" }, json: { type: "boolean" }, help: { type: "boolean" } },
    });
    const { seconds = "60", json: isJson = false, help = false } = values;
    if (help) process.stdout.write(usage);
    if (help) return undefined;
    if (!/^[1-9]\d{1,5}$/.test(seconds)) throw new Error(`--seconds must be a number from 10 on, not ${seconds}`);
    return { seconds: Number(seconds), isJson };
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${usage}`);
    process.exitCode = 2;
    return undefined;
  }
}
