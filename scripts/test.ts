/**
 * Runs the tests on every database engine: `npm test -- [--sqlite | --postgres] [part of a path…]`.
 *
 * PostgreSQL is the server that TEST_POSTGRES_URL names, or else one that is started for the run. The last line is
 * always "N passed, N failed", counting single tests over all engines.
 */
import { chmodSync, globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import path from "node:path";
import { run } from "node:test";
import { inspect, parseArgs, styleText } from "node:util";
import { createTemplate } from "../server/test/template.ts";
import { fastFolder } from "./fast-folder.ts";
import { TestReport } from "./test-report.ts";
import { startThrowawayPostgres } from "./throwaway-postgres.ts";

const root = path.resolve(import.meta.dirname, "..");
const testMsMax = 120_000; // for tests that hang; on a busy machine long tests take most of a minute
const silenceMsMax = 240_000;

const { values: only, positionals: wanted } = parseArgs({
  options: { sqlite: { type: "boolean" }, postgres: { type: "boolean" } },
  allowPositionals: true,
});

const interruption = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => interruption.abort(new Error(signal)));
}

// All temporary files of the tests: on a disk, SQLite waits longer at its commits than most tests compute.
const temporary = mkdtempSync(path.join(fastFolder(), "rollcall-tests-"));
chmodSync(temporary, 0o711); // PostgreSQL may run under another account
process.env["TMPDIR"] = temporary;

const engines = [
  { name: "SQLite", isWanted: only.sqlite || !only.postgres, test: testOnSqlite },
  { name: "PostgreSQL", isWanted: only.postgres || !only.sqlite, test: testOnPostgres },
].filter((engine) => engine.isWanted);

const total = { passed: 0, failed: 0, skipped: 0 };
let files = findTestFiles();
for (const { name, test } of engines) {
  if (files.length === 0 || interruption.signal.aborted) break;
  console.log(styleText("bold", name));
  const startedAt = performance.now();
  const report = new TestReport(root);
  // An engine that does not start is a failure, so that the last line never looks like success.
  await test(files, report).catch((error) => report.fail(name, inspect(error)));
  // A run of named files prints their output, too.
  report.print(wanted.length > 0);
  report.printSlowest();
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  console.log(`${report.passed + report.failed} tests in ${seconds} s\n`);
  total.passed += report.passed;
  total.failed += report.failed;
  total.skipped += report.skipped;
  files = files.filter((file) => !needsOneEngine(file));
}

rmSync(temporary, { recursive: true, force: true, maxRetries: 5 });
const skipped = total.skipped > 0 ? `, ${total.skipped} skipped` : "";
console.log(`${total.passed} passed, ${total.failed} failed${skipped}`);
if (interruption.signal.aborted) process.exitCode = 130;
else if (total.failed > 0 || total.passed === 0) process.exitCode = 1;

function findTestFiles(): string[] {
  return globSync("server/**/*.test.ts", { cwd: root, exclude: ["**/node_modules/**"] })
    .map((file) => file.replaceAll(path.sep, "/"))
    .filter((file) => wanted.length === 0 || wanted.some((part) => file.includes(part)))
    .sort();
}

/** Whether the engine cannot make a difference to a file: it says so, or tests lib, which uses no database. */
function needsOneEngine(file: string): boolean {
  if (file.startsWith("server/src/lib/")) return true;
  return readFileSync(path.join(root, file), "utf8").startsWith("// Runs on one engine: ");
}

async function testOnSqlite(files: string[], report: TestReport): Promise<void> {
  await runOnCopies(files, report, undefined);
}

async function testOnPostgres(files: string[], report: TestReport): Promise<void> {
  const url = process.env["TEST_POSTGRES_URL"];
  if (url) return runOnCopies(files, report, url);
  const server = await startThrowawayPostgres();
  try {
    await runOnCopies(files, report, server.url);
  } finally {
    await server.stop();
  }
}

/** @param server the URL of a PostgreSQL server; undefined for SQLite */
async function runOnCopies(files: string[], report: TestReport, server: string | undefined): Promise<void> {
  if (server === undefined) delete process.env["TEST_DATABASE_URL"];
  else process.env["TEST_DATABASE_URL"] = server;
  const template = await createTemplate(temporary);
  process.env["TEST_DATABASE_TEMPLATE"] = template.url;
  await runFiles(files, report);
  await template.drop();
}

/** Runs every file in a process of its own. */
async function runFiles(files: string[], report: TestReport): Promise<void> {
  // The runner's own timeout ends tests, but not a file that an open handle keeps alive.
  const silence = new AbortController();
  const watchdog = setTimeout(() => {
    silence.abort(new Error(`nothing happened for ${silenceMsMax / 1000} s`));
  }, silenceMsMax);
  const events = run({
    files: files.map((file) => path.join(root, file)),
    cwd: root,
    concurrency: Math.max(2, availableParallelism()), // more of them would starve what runs at a low priority
    timeout: testMsMax,
    signal: AbortSignal.any([interruption.signal, silence.signal]),
    // Without the cache, stripping types takes a third of the time of a short test file.
    env: { NODE_COMPILE_CACHE: path.join(root, "node_modules/.cache/compiled"), ...process.env },
  });
  for await (const event of events) {
    watchdog.refresh();
    report.add(event);
  }
  clearTimeout(watchdog);
}
