/** Measures the server against raw ceilings: `npm run bench -- --help`. What the rows mean: docs/contributing/benchmarks.md. */
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { styleText } from "node:util";
import { cleanUpAtExit, endEverything, isInterrupted } from "../testkit/children.ts";
import { createSqlite, startPostgres } from "./engine.ts";
import { type Fixture, startFixture } from "./fixture.ts";
import { preferredTool } from "./load.ts";
import { wrkVersion } from "./load-wrk.ts";
import { describeMachine, readLoadAverage } from "./machine.ts";
import { measureBackup } from "./measure-backup.ts";
import { measureBatch } from "./measure-batch.ts";
import { measureClient } from "./measure-client.ts";
import { measureConsole } from "./measure-console.ts";
import { measureEvents } from "./measure-events.ts";
import { measureFileMemory } from "./measure-file-memory.ts";
import { growthNames, measureGrowth } from "./measure-growth.ts";
import { measureLogins } from "./measure-logins.ts";
import { measureMetrics } from "./measure-metrics.ts";
import { measurePaging } from "./measure-paging.ts";
import { formatPeers, measurePeers } from "./measure-peers.ts";
import { measureRecording } from "./measure-recording.ts";
import { measureScenario } from "./measure-scenario.ts";
import { measureSearch } from "./measure-search.ts";
import { measureIdleMemory, measureLoadedMemory, measureStart } from "./measure-start.ts";
import { measureThumbnails } from "./measure-thumbnails.ts";
import { measureTransfers } from "./measure-transfers.ts";
import { readOptions, UsageError } from "./options.ts";
import { readDisturbedCount } from "./quiet.ts";
import { formatTable, type Row } from "./report.ts";
import { scenarios } from "./scenarios.ts";
import type { Measure } from "./turns.ts";

/** The measurements after the scenarios, on their server. */
const afterLoad: Readonly<Record<string, Measure>> = {
  recording: measureRecording,
  batch: measureBatch,
  client: measureClient,
  memory: async ({ server }) => measureLoadedMemory(server),
  "me-during-logins": measureLogins,
  paging: measurePaging,
  search: measureSearch,
  metrics: measureMetrics,
  transfers: measureTransfers,
  thumbnails: measureThumbnails,
  backup: measureBackup,
};
const names = [
  ...["start", "events", ...scenarios.map(({ key }) => key), ...Object.keys(afterLoad)],
  ...["file-memory", "console", ...growthNames],
];
const startedAt = new Date();
const fileName = `${startedAt.toISOString().replaceAll(/[:.]/g, "-")}.json`;

try {
  const options = readOptions(process.argv.slice(2), names, path.join(import.meta.dirname, "results", fileName));
  cleanUpAtExit();
  await run(options);
} catch (error) {
  if (!isInterrupted()) {
    const isHelp = error instanceof UsageError && error.isHelp;
    (isHelp ? process.stdout : process.stderr).write(`${describe(error)}\n`);
    process.exitCode = isHelp ? 0 : error instanceof UsageError ? 2 : 1;
  }
} finally {
  if (!isInterrupted()) await endEverything();
}

async function run(options: ReturnType<typeof readOptions>): Promise<void> {
  const rows: Row[] = [];
  const failures: { name: string; reason: string }[] = [];
  const loadAverageBefore = readLoadAverage();

  /** Reports a failure, and goes on with the next measurement. */
  async function measure(name: string, work: (report: (line: string) => void) => Promise<Row | Row[]>): Promise<void> {
    const isAsked = options.isGrowth || options.only.length === 0 || options.only.includes(name);
    if (isInterrupted() || !isAsked) return;
    try {
      rows.push(...[await work((line) => progress(name, line))].flat());
    } catch (error) {
      if (isInterrupted()) return;
      failures.push({ name, reason: describe(error) });
      progress(name, styleText("red", `failed: ${describe(error)}`, { stream: process.stderr }));
    }
  }

  if (options.isPeers) {
    const table = await measurePeers(options, (line) => progress("peers", line));
    process.stdout.write(`${formatPeers(table)}\n`);
    return;
  }
  const engine = options.engine === "postgres" ? await startPostgres() : createSqlite();
  progress(engine.name, engine.version);
  if (options.isGrowth) await measure("growth", (report) => measureGrowth(engine, options, report));
  else await measureEverything();

  async function measureEverything(): Promise<void> {
    await measure("start", (report) => measureStart(engine, options, report));
    await measure("events", (report) => measureEvents(engine, options, report));
    if (options.only.length === 0 || options.only.some((name) => name !== "start" && name !== "events")) {
      const fixture: Fixture = await startFixture(engine, (server) =>
        measure("memory", () => measureIdleMemory(server)),
      );
      await engine.settle(fixture.deployment);
      for (const scenario of scenarios) {
        await measure(scenario.key, (report) => measureScenario(scenario, fixture, options, report));
      }
      for (const [name, measureIt] of Object.entries(afterLoad)) {
        await measure(name, (report) => measureIt(fixture, options, report));
      }
      await fixture.server.stop();
      await measure("file-memory", (report) => measureFileMemory(fixture, options, report));
      await measure("console", (report) => measureConsole(engine, report));
    }
  }
  if (isInterrupted()) return;

  const tool = preferredTool() === "wrk" ? wrkVersion() : "bench/load-generator.ts";
  const machine = describeMachine();
  const { engine: _, json, ...settings } = options;
  mkdirSync(path.dirname(path.resolve(json)), { recursive: true });
  const everything = {
    startedAt,
    engine: { name: engine.name, version: engine.version },
    loadGenerator: tool,
    machine,
    disturbedCount: readDisturbedCount(),
    loadAverage: { before: loadAverageBefore, after: readLoadAverage() },
    settings,
    rows,
    failures,
  };
  writeFileSync(json, `${JSON.stringify(everything, undefined, 2)}\n`);
  process.stdout.write(
    [
      `${engine.name} ${engine.version}, Node.js ${machine.node}, ${machine.cores} × ${machine.processor}`,
      `load by ${tool} on the same machine, ${options.connections} connections, ` +
        `median of ${options.runs} × ${options.seconds} s`,
      "",
      formatTable(rows, process.stdout.isTTY === true),
      "",
      ...(readDisturbedCount() > 0
        ? [
            `${readDisturbedCount()} measurements began while other programs kept this machine busy: trust the ratios, not the rates.`,
          ]
        : []),
      ...failures.map(({ name, reason }) => `FAILED ${name}: ${reason}`),
      `All figures: ${path.relative(process.cwd(), json)}`,
      "",
    ].join("\n"),
  );
  if (failures.length > 0) process.exitCode = 1;
}

function progress(name: string, line: string): void {
  process.stderr.write(`${styleText("dim", name.padEnd(17), { stream: process.stderr })} ${line}\n`);
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
