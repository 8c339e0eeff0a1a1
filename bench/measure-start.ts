import { setTimeout as delay } from "node:timers/promises";
import type { Engine } from "./engine.ts";
import type { Options } from "./options.ts";
import { untilQuiet } from "./quiet.ts";
import type { Row } from "./report.ts";
import { type ServerProcess, startServer } from "./server-process.ts";
import { median } from "./turns.ts";

const startMsGoals = { SQLite: 450, PostgreSQL: 700 };
const idleBytesGoal = 90_000_000;
const idleSeconds = 3;

/**
 * From the start of `rollcall serve` to its first response: on an empty database, on an existing one, and on an
 * existing one without the compile cache, as at the first start of an installation.
 */
export async function measureStart(
  engine: Engine,
  { starts, patienceSeconds }: Options,
  report: (progress: string) => void,
): Promise<Row[]> {
  const kinds = [
    { name: "start, empty database", environment: {}, timesMs: emptyList() },
    { name: "start, existing database", environment: {}, timesMs: emptyList() },
    { name: "start, nothing compiled", environment: { NODE_DISABLE_COMPILE_CACHE: "1" }, timesMs: emptyList() },
  ];
  for (let run = 0; run < starts; run += 1) {
    const { settings } = await engine.newDeployment();
    for (const { environment, timesMs } of kinds) {
      await untilQuiet(patienceSeconds);
      const server = await startServer({ ...settings, ...environment });
      timesMs.push(server.startedInMs);
      await server.stop();
    }
    report(kinds.map(({ timesMs }) => `${timesMs.at(-1)?.toFixed(0)} ms`).join(", "));
  }
  const startMsGoal = startMsGoals[engine.name];
  return kinds.map(({ name, timesMs }) => ({
    name,
    measured: `${median(timesMs).toFixed(0)} ms`,
    goal: { text: `< ${startMsGoal} ms`, isMet: median(timesMs) < startMsGoal },
    details: { timesMs },
  }));
}

function emptyList(): number[] {
  return [];
}

/** The memory of the process a few seconds after its start. */
export async function measureIdleMemory(server: ServerProcess): Promise<Row> {
  await delay(idleSeconds * 1000);
  const bytes = server.residentBytes();
  return {
    name: "memory, idle",
    measured: formatMegabytes(bytes),
    goal: { text: `< ${formatMegabytes(idleBytesGoal)}`, isMet: bytes < idleBytesGoal },
    details: { bytes },
  };
}

/** The memory right after the load of all the scenarios. */
export function measureLoadedMemory(server: ServerProcess): Row {
  const bytes = server.residentBytes();
  const peak = server.peakResidentBytes();
  return {
    name: "memory, after load",
    measured: formatMegabytes(bytes),
    ...(peak !== undefined && { against: `peak ${formatMegabytes(peak)}` }),
    details: { bytes, peak },
  };
}

function formatMegabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(0)} MB`;
}
