/**
 * Runs the tests on every database engine: `npm test -- [--sqlite | --postgres] [--seed N | --seed random] [part of a path…]`.
 *
 * Property tests choose the same values in every run, so that a commit passes or fails whenever it is tested; another
 * seed searches further, and a failure prints it.
 *
 * PostgreSQL is the server that TEST_POSTGRES_URL names, or else one that is started for the run. Its files begin as
 * soon as those of SQLite leave a processor free. The last line is always "N passed, N failed", counting single tests
 * over all engines.
 */
import { execFileSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { chmodSync, globSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { availableParallelism, getPriority, setPriority } from "node:os";
import path from "node:path";
import { run } from "node:test";
import type { TestEvent } from "node:test/reporters";
import { inspect, parseArgs } from "node:util";
import { createTemplate } from "../server/test/template.ts";
import { fastFolder } from "./fast-folder.ts";
import { needsOneEngine, writeTestPrograms } from "./test-programs.ts";
import { TestReport } from "./test-report.ts";
import { startThrowawayPostgres } from "./throwaway-postgres.ts";

const root = path.resolve(import.meta.dirname, "..");
const testMsMax = 120_000; // for tests that hang; on a busy machine long tests take most of a minute
const silenceMsMax = 240_000;
/** More than processors, because tests also wait for databases, hashes and child processes. */
const processesAtOnce = availableParallelism() + 2;
/** Close to that of backups and decoders of pictures, which would otherwise starve among so many processes. */
const niceness = 10;

const { values: only, positionals: wanted } = parseArgs({
  options: { sqlite: { type: "boolean" }, postgres: { type: "boolean" }, seed: { type: "string" } },
  allowPositionals: true,
});

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

// Makes the bundle that tests start, before many of them would make it at the same time.
execFileSync(process.execPath, [path.join(root, "server/bin/rollcall.mjs"), "--version"], { stdio: "ignore" });

interface EngineRun {
  readonly name: string;
  readonly report: TestReport;
  /** The programs that run the test files. */
  readonly programs: readonly string[];
  readonly stop: () => Promise<void>;
}

interface Server {
  readonly url: string;
  readonly stop: () => Promise<void>;
}

const engines = [
  { name: "SQLite", isWanted: only.sqlite || !only.postgres, start: async () => undefined },
  { name: "PostgreSQL", isWanted: only.postgres || !only.sqlite, start: startPostgres },
].filter((engine) => engine.isWanted);

const total = { passed: 0, failed: 0, skipped: 0 };
const runs: EngineRun[] = [];
let files = findTestFiles();
for (const { name, start } of engines) {
  if (files.length > 0 && !interruption.signal.aborted) runs.push(await prepare(name, files, start));
  files = files.filter((file) => !needsOneEngine(root, file));
}
await runPrograms();
for (const { stop } of runs) await stop();

rmSync(temporary, { recursive: true, force: true, maxRetries: 5 });
const skipped = total.skipped > 0 ? `, ${total.skipped} skipped` : "";
console.log(`${total.passed} passed, ${total.failed} failed${skipped}`);
if (interruption.signal.aborted) process.exitCode = 130;
else if (total.failed > 0 || total.passed === 0) process.exitCode = 1;

/** The longest files first, so that none of them begins when all others have ended. */
function findTestFiles(): string[] {
  const size = (file: string) => statSync(path.join(root, file)).size;
  return globSync("{server,sdk}/**/*.test.ts", { cwd: root, exclude: ["**/node_modules/**"] })
    .map((file) => file.replaceAll(path.sep, "/"))
    .filter((file) => wanted.length === 0 || wanted.some((part) => file.includes(part)))
    .sort((a, b) => size(b) - size(a));
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
  let server: Server | undefined;
  try {
    server = await start();
    const template = await createTemplate(temporary, server?.url);
    const env = { TEST_DATABASE_TEMPLATE: template.url, ...(server && { TEST_DATABASE_URL: server.url }) };
    const programs = writeTestPrograms({ root, env, files, seed, folder: temporary, name, processesAtOnce });
    const stop = async () => {
      await template.drop();
      await server?.stop();
    };
    return { name, report, programs, stop };
  } catch (error) {
    report.fail(name, inspect(error)); // so that the last line never reports success
    return { name, report, programs: [], stop: async () => server?.stop() };
  }
}

/** Runs the programs of all engines. Prints the results of an engine when its last program has ended. */
async function runPrograms(): Promise<void> {
  const reports = new Map(
    runs.flatMap(({ programs, report }) => programs.map((program) => [program, report] as const)),
  );
  const unprinted = runs.map(({ report }) => report);
  /** Ends the reports before this one: results arrive in the order of the programs. */
  function advanceTo(report: TestReport | undefined): void {
    while (unprinted[0] !== report) {
      const [ended] = unprinted.splice(0, 1);
      if (ended !== undefined) finish(ended);
      unprinted[0]?.begin();
    }
  }
  unprinted[0]?.begin();
  // The runner's own timeout ends tests, but not a file that an open handle keeps alive.
  const silence = new AbortController();
  const watchdog = setTimeout(() => {
    silence.abort(new Error(`nothing happened for ${silenceMsMax / 1000} s`));
  }, silenceMsMax);
  const events = run({
    files: [...reports.keys()],
    cwd: root,
    concurrency: processesAtOnce,
    timeout: testMsMax,
    signal: AbortSignal.any([interruption.signal, silence.signal]),
    // Without the cache, stripping types takes a third of the time of a short test file.
    env: { NODE_COMPILE_CACHE: path.join(root, "node_modules/.cache/compiled"), ...process.env },
  });
  for await (const event of events) {
    watchdog.refresh();
    const program = programOf(event);
    const report = reports.get(program);
    if (report === undefined) continue;
    if (event.type === "test:pass" || event.type === "test:fail") advanceTo(report);
    report.add(event, program);
  }
  clearTimeout(watchdog);
  advanceTo(undefined);
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
