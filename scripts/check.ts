/**
 * Runs all checks that need no running server: `npm run check`, or `npm run check -- FOLDER` for those of one folder, without the
 * search for unused code, which needs all sources. Prints the output of failed checks only.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, statSync } from "node:fs";
import path from "node:path";
import { text } from "node:stream/consumers";
import { styleText } from "node:util";
import { findLadderViolations, findPackageViolations, readServerSources } from "./import-ladder.ts";
import { renderSdkApi, sdkApiFile } from "./sdk-api.ts";
import { findPhrases, readWrittenFiles } from "./word-list.ts";

interface Check {
  readonly name: string;
  /** The folders that it is about; all if there are none. */
  readonly folders?: readonly string[];
  /** The output of a failed check; undefined after a success. */
  findProblems(): Promise<string | undefined>;
}

const root = path.resolve(import.meta.dirname, "..");

/** The chosen folder, relative to the root; empty for all. */
const folder = readFolder();

const checks: Check[] = [
  typesOf("types", "tsconfig.json", ["server", "scripts", "verify", "bench", "faults", "fuzz", "testkit"]),
  typesOf("types of the client", "sdk/tsconfig.json", ["sdk/src"]),
  typesOf("types of the client's tests", "sdk/tsconfig.test.json", ["sdk", "faults", "bench/client"]),
  typesOf("types of the examples", "examples/tsconfig.json", ["examples"]),
  typesOf("types of the console", "console/tsconfig.json", ["console"]),
  {
    name: "format and lint",
    findProblems: () =>
      runTool("@biomejs/biome/bin/biome", "check", "--error-on-warnings", "--no-errors-on-unmatched", folder || "."),
  },
  {
    name: "import directions",
    findProblems: async () =>
      [...findLadderViolations(readServerSources(root)), ...findPackageViolations(root)].join("\n") || undefined,
  },
  { name: "public interface of the client", folders: ["sdk"], findProblems: async () => findSdkApiDrift() },
  {
    name: "wording",
    findProblems: async () => {
      const files = readWrittenFiles(root).filter(({ path: file }) => isWithin(file, folder));
      return findPhrases(files).join("\n") || undefined;
    },
  },
];
if (folder === "") {
  const findProblems = () => runTool("knip/bin/knip.js", "--no-progress", "--no-config-hints");
  checks.push({ name: "unused code", findProblems });
}

const waiting = checks.filter(isOfFolder).values();
// Two workers share one iterator: each takes the next check as soon as it is free.
await Promise.all([runChecks(waiting), runChecks(waiting)]);

async function runChecks(waiting: Iterable<Check>): Promise<void> {
  for (const { name, findProblems } of waiting) {
    const startedAt = performance.now();
    const problems = await findProblems();
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    const verdict = problems === undefined ? styleText("green", "ok    ") : styleText("red", "failed");
    console.log(`${verdict} ${name} (${seconds} s)`);
    if (problems === undefined) continue;
    console.log(`${problems.trimEnd()}\n`);
    process.exitCode = 1;
  }
}

function typesOf(name: string, project: string, folders: readonly string[]): Check {
  return { name, folders, findProblems: () => runTool("typescript/bin/tsc", "--noEmit", "-p", project) };
}

function readFolder(): string {
  const [given, ...more] = process.argv.slice(2);
  if (given === undefined) return "";
  const folder = path.relative(root, path.resolve(given)).replaceAll(path.sep, "/");
  const isFolder = statSync(path.join(root, folder), { throwIfNoEntry: false })?.isDirectory();
  if (isFolder && more.length === 0 && !folder.startsWith("..")) return folder;
  console.error("Usage: npm run check -- [FOLDER]");
  process.exit(2);
}

function isOfFolder({ folders }: Check): boolean {
  return folders === undefined || folders.some((each) => isWithin(each, folder) || isWithin(folder, each));
}

function isWithin(file: string, folder: string): boolean {
  return folder === "" || file === folder || file.startsWith(`${folder}/`);
}

function findSdkApiDrift(): string | undefined {
  const isCurrent = renderSdkApi() === readFileSync(path.join(root, sdkApiFile), "utf8");
  return isCurrent ? undefined : `${sdkApiFile} is out of date. Run npm run docs, and review what has changed.`;
}

/** Runs a tool of node_modules. It is started as a script because its launcher in .bin differs between systems. */
async function runTool(script: string, ...args: string[]): Promise<string | undefined> {
  const command = [path.join(root, "node_modules", script), ...args];
  const tool = spawn(process.execPath, command, { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
  const [out, errors, [code]] = await Promise.all([text(tool.stdout), text(tool.stderr), once(tool, "exit")]);
  return code === 0 ? undefined : `${out}${errors}` || `exit code ${code}`;
}
