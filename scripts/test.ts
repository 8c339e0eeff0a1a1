/**
 * Runs the tests: `npm test -- [--rest | --sqlite | --postgres] [--record] [--seed N | --seed random] [part of a path…]`.
 *
 * Without options, all files run on SQLite, and those whose results can depend on the engine on PostgreSQL, too
 * (`scripts/test-selection.ts`). `--rest` runs on PostgreSQL what that leaves out. `--sqlite` and `--postgres` run all
 * files on one engine. Files that a part of their path names run on both engines, whatever they test.
 *
 * Property tests choose the same values in every run, so that a commit passes or fails whenever it is tested; another
 * seed searches further, and a failure prints it.
 *
 * The longest files start first, by the record in `scripts/test-durations.json`. `--record` updates it.
 *
 * PostgreSQL is the server that TEST_POSTGRES_URL names, or else one that is started for the run. Its files begin as
 * soon as those of SQLite leave a processor free. The last line is always "N passed, N failed", counting single tests
 * over all engines.
 */
import { execFileSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { chmodSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, getPriority, setPriority } from "node:os";
import path from "node:path";
import { run } from "node:test";
import type { TestEvent } from "node:test/reporters";
import { inspect, parseArgs } from "node:util";
import { createTemplate } from "../server/test/template.ts";
import { fastFolder } from "./fast-folder.ts";
import { longestFirst, mostlyWaits, readDurations, updateDurations, writeDurations } from "./test-durations.ts";
import { writeTestPrograms } from "./test-programs.ts";
import { TestReport } from "./test-report.ts";
import { dependsOnEngine, needsOneEngine, startsProgram } from "./test-selection.ts";
import type { Cost } from "./test-worker.ts";
import { startThrowawayPostgres } from "./throwaway-postgres.ts";

const root = path.resolve(import.meta.dirname, "..");
const testMsMax = 300_000; // for tests that hang; on a busy machine long tests take minutes
const silenceMsMax = 420_000;
/** The processes that run at the same time in each lane: files that compute also wait at times, and files that wait rarely compute. */
const lanes = { computing: availableParallelism() + 1, waiting: 2 * availableParallelism() };
/** Close to that of backups and decoders of pictures, which would otherwise starve among so many processes. */
const niceness = 10;

const { values: only, positionals: wanted } = parseArgs({
  options: {
    rest: { type: "boolean" },
    sqlite: { type: "boolean" },
    postgres: { type: "boolean" },
    record: { type: "boolean" },
    seed: { type: "string" },
  },
  allowPositionals: true,
});
if (only.rest && (only.sqlite || only.postgres)) throw new TypeError("--rest is about PostgreSQL, and takes no engine");

const seed = only.seed === "random" ? randomInt(2 ** 31) : Number(only.seed ?? 1);
if (!Number.isSafeInteger(seed)) throw new TypeError("--seed must be an integer or random");

if (getPriority() < niceness) setPriority(niceness);

const interruption = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => interruption.abort(new Error(signal)));
}

// All temporary files of the tests: on a disk, SQLite waits longer at its commits than most tests compute.
const temporary = mkdtempSync(path.join(fastFolder(), "rollcall-tests-"));
chmodSync(temporary, 0o711); // PostgreSQL may run under another account
process.env["TMPDIR"] = temporary;
delete process.env["TEST_DATABASE_URL"]; // the programs set it

interface EngineRun {
  readonly name: string;
  readonly report: TestReport;
  /** The programs that run the test files, by lane. */
  readonly programs: Readonly<Record<Lane, readonly string[]>>;
  /** The costs of the files that have run. */
  costs(): readonly Cost[];
  stop(): Promise<void>;
}

type Lane = keyof typeof lanes;

interface Server {
  readonly url: string;
  readonly stop: () => Promise<void>;
}

const durations = readDurations();
const files = findTestFiles();
const engines = [
  { name: "SQLite", files: filesOnSqlite(), start: async () => undefined },
  { name: "PostgreSQL", files: filesOnPostgres(), start: startPostgres },
].filter((engine) => engine.files.length > 0);

// Makes the bundle before many programs would make it at the same time.
if (files.some((file) => startsProgram(root, file))) {
  execFileSync(process.execPath, [path.join(root, "server/bin/rollcall.mjs"), "--version"], { stdio: "ignore" });
}

const total = { passed: 0, failed: 0, skipped: 0 };
const runs: EngineRun[] = [];
for (const { name, files, start } of engines) {
  if (!interruption.signal.aborted) runs.push(await prepare(name, files, start));
}
await runPrograms();
for (const { report } of runs) finish(report);
if (only.record) record();
for (const { stop } of runs) await stop();

rmSync(temporary, { recursive: true, force: true, maxRetries: 5 });
const skipped = total.skipped > 0 ? `, ${total.skipped} skipped` : "";
console.log(`${total.passed} passed, ${total.failed} failed${skipped}`);
if (interruption.signal.aborted) process.exitCode = 130;
else if (total.failed > 0 || total.passed === 0) process.exitCode = 1;

function findTestFiles(): string[] {
  return globSync("{server,sdk}/**/*.test.ts", { cwd: root, exclude: ["**/node_modules/**"] })
    .map((file) => file.replaceAll(path.sep, "/"))
    .filter((file) => wanted.length === 0 || wanted.some((part) => file.includes(part)));
}

function filesOnSqlite(): string[] {
  return only.rest || (only.postgres && !only.sqlite) ? [] : files;
}

function filesOnPostgres(): string[] {
  if (only.sqlite && !only.postgres) return [];
  if (only.postgres && !only.sqlite) return files;
  const onBoth = files.filter((file) => !needsOneEngine(root, file));
  if (only.rest) return onBoth.filter((file) => !dependsOnEngine(file));
  return wanted.length > 0 || only.postgres ? onBoth : onBoth.filter((file) => dependsOnEngine(file));
}

async function startPostgres(): Promise<Server> {
  const url = process.env["TEST_POSTGRES_URL"];
  return url ? { url, stop: async () => {} } : startThrowawayPostgres();
}

/** Starts an engine, and writes the programs that run these files on it. */
async function prepare(
  name: string,
  files: readonly string[],
  start: () => Promise<Server | undefined>,
): Promise<EngineRun> {
  const report = new TestReport(root, name, files);
  const costs = path.join(temporary, `${name}-costs`);
  writeFileSync(costs, "");
  const readCosts = () =>
    readFileSync(costs, "utf8")
      .split("\n")
      .filter(Boolean)
      .map((line): Cost => JSON.parse(line));
  let server: Server | undefined;
  try {
    server = await start();
    const template = await createTemplate(temporary, server?.url);
    const env = { TEST_DATABASE_TEMPLATE: template.url, ...(server && { TEST_DATABASE_URL: server.url }) };
    const ordered = longestFirst(files, name, durations);
    const programsOf = (lane: Lane) => {
      const files = ordered.filter((file) => mostlyWaits(file, durations) === (lane === "waiting"));
      const plan = { root, env, files, seed, costs, folder: temporary, processesAtOnce: lanes[lane] };
      return writeTestPrograms({ ...plan, name: `${name}-${lane}` });
    };
    const programs = { computing: programsOf("computing"), waiting: programsOf("waiting") };
    const stop = async () => {
      await template.drop();
      await server?.stop();
    };
    return { name, report, programs, costs: readCosts, stop };
  } catch (error) {
    report.fail(name, inspect(error)); // so that the last line never reports success
    const stop = async () => server?.stop();
    return { name, report, programs: { computing: [], waiting: [] }, costs: readCosts, stop };
  }
}

/** Runs the programs of all engines. */
async function runPrograms(): Promise<void> {
  // The runner's own timeout ends tests, but not a file that an open handle keeps alive.
  const silence = new AbortController();
  const watchdog = setTimeout(() => {
    silence.abort(new Error(`nothing happened for ${silenceMsMax / 1000} s`));
  }, silenceMsMax);
  const signal = AbortSignal.any([interruption.signal, silence.signal]);
  const onEvent = () => void watchdog.refresh();
  await Promise.all([runLane("computing", signal, onEvent), runLane("waiting", signal, onEvent)]);
  clearTimeout(watchdog);
}

async function runLane(lane: Lane, signal: AbortSignal, onEvent: () => void): Promise<void> {
  const reports = new Map(
    runs.flatMap(({ programs, report }) => programs[lane].map((program) => [program, report] as const)),
  );
  if (reports.size === 0) return;
  const events = run({
    files: [...reports.keys()],
    cwd: root,
    concurrency: lanes[lane],
    timeout: testMsMax,
    signal,
    // Without the cache, stripping types takes a third of the time of a short test file.
    env: { NODE_COMPILE_CACHE: path.join(root, "node_modules/.cache/compiled"), ...process.env },
  });
  for await (const event of events) {
    onEvent();
    const program = programOf(event);
    reports.get(program)?.add(event, program);
  }
}

/** The program that an event is about. */
function programOf({ data }: TestEvent): string {
  if (data === undefined) return "";
  const path =
    ("entryFile" in data && data.entryFile) || ("file" in data && data.file) || ("name" in data && data.name);
  return path || "";
}

function finish(report: TestReport): void {
  // A run of named files prints their output, too.
  report.finish(wanted.length > 0);
  total.passed += report.passed;
  total.failed += report.failed;
  total.skipped += report.skipped;
}

function record(): void {
  const isFile = (file: string) => existsSync(path.join(root, file));
  const updated = runs.reduce((record, { name, costs }) => updateDurations(record, name, costs(), isFile), durations);
  writeDurations(updated);
}
