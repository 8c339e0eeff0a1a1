import asyncHooks from "node:async_hooks";
import { appendFileSync, mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

// By default, the runner follows every promise of the server under test, which takes up to a fourth of the processor time.
const { createHook } = asyncHooks;
Object.assign(asyncHooks, {
  createHook: (callbacks: asyncHooks.HookCallbacks) => createHook({ ...callbacks, trackPromises: false }),
});
const { suite } = await import("node:test");
const { default: fc } = await import("fast-check");

const require = createRequire(import.meta.url);

/** The task of one process of the test run. */
export interface TestWork {
  /** The repository. */
  readonly root: string;
  /** The variables that name the engine. */
  readonly env: Readonly<Record<string, string>>;
  /** Test files relative to the repository; processes with the same `claims` share them. */
  readonly files: readonly string[];
  /** A folder in which a process marks the files that it has taken. */
  readonly claims: string;
  /** The file to which each process appends the costs of test files, in lines of JSON. */
  readonly costs: string;
  /** The seed from which property tests choose their values. */
  readonly seed: number;
  /** The number of files after which the process ends, so that it does not collect the leftovers of all. */
  readonly filesMax: number;
}

/** What a test file has taken. */
export interface Cost {
  readonly file: string;
  /** The processor time of its process and, on Linux, of the programs that it has started, but not of a database server. */
  readonly processorMs: number;
  /** From its start to its end, on Linux without the time in which others had the processor. */
  readonly totalMs: number;
}

/**
 * Runs test files one after the other in this process, each as a suite named by its path, until none is left.
 *
 * The runner knows the parent of a test, and the test of an uncaught error, from synchronous calls only: files are loaded
 * synchronously, and an uncaught error may fail the process instead of its test.
 */
export async function runTestFiles({ root, env, files, claims, costs, seed, filesMax }: TestWork): Promise<void> {
  Object.assign(process.env, env);
  fc.configureGlobal({ seed });
  const keepAlive = setInterval(() => {}, 60_000); // a test may wait for an event that does not keep its process running
  let count = 0;
  let current = "";
  const printUncaught = (error: unknown) => console.error(`Uncaught in ${current}:`, error);
  process.on("uncaughtExceptionMonitor", printUncaught).on("unhandledRejection", printUncaught);
  for (const [index, file] of files.entries()) {
    if (count === filesMax) break;
    if (!claim(path.join(claims, `${index}`))) continue;
    count += 1;
    current = file;
    const before = readTimes();
    await suite(file, () => void require(path.join(root, file)));
    const after = readTimes();
    const cost: Cost = {
      file,
      processorMs: after.processorMs - before.processorMs,
      totalMs: after.totalMs - before.totalMs,
    };
    appendFileSync(costs, `${JSON.stringify(cost)}\n`);
  }
  clearInterval(keepAlive);
}

/** Whether no other process has created this folder before. */
function claim(folder: string): boolean {
  try {
    mkdirSync(folder);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}

function readTimes(): Omit<Cost, "file"> {
  const { user, system } = process.cpuUsage();
  const { childrenMs, queuedMs } = readTimesOfLinux();
  return { processorMs: (user + system) / 1_000 + childrenMs, totalMs: performance.now() - queuedMs };
}

/**
 * The processor time of child processes that have ended, and how long this one was ready to run while others did. Only
 * Linux tells.
 */
function readTimesOfLinux(): { readonly childrenMs: number; readonly queuedMs: number } {
  try {
    const ticks = readFileSync("/proc/self/stat", "utf8").split(") ").at(-1)?.split(" ") ?? [];
    const [, queuedNs] = readFileSync("/proc/self/schedstat", "utf8").split(" ");
    return { childrenMs: (Number(ticks[13]) + Number(ticks[14])) * 10, queuedMs: Number(queuedNs) / 1e6 };
  } catch {
    return { childrenMs: 0, queuedMs: 0 };
  }
}
