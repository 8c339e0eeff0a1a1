import asyncHooks from "node:async_hooks";
import { mkdirSync } from "node:fs";
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
  /** The seed from which property tests choose their values. */
  readonly seed: number;
  /** The number of files after which the process ends, so that it does not collect the leftovers of all. */
  readonly filesMax: number;
}

/**
 * Runs test files one after the other in this process, each as a suite named by its path, until none is left.
 *
 * The runner knows the parent of a test, and the test of an uncaught error, from synchronous calls only: files are loaded
 * synchronously, and an uncaught error may fail the process instead of its test.
 */
export async function runTestFiles({ root, env, files, claims, seed, filesMax }: TestWork): Promise<void> {
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
    await suite(file, () => void require(path.join(root, file)));
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
