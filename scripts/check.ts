/** Runs all checks that need no running server: `npm run check`. Prints the output of failed checks only. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import path from "node:path";
import { text } from "node:stream/consumers";
import { styleText } from "node:util";
import { findConsoleLadderViolations } from "./console-ladder.ts";
import { findLadderViolations, readServerSources } from "./import-ladder.ts";
import { renderSdkApi, sdkApiFile } from "./sdk-api.ts";
import { findSdkLadderViolations } from "./sdk-ladder.ts";
import { findPhrases, readWrittenFiles } from "./word-list.ts";

/** `problems` is the output of a failed check, and undefined after a success. */
type Check = { name: string; findProblems: () => Promise<string | undefined> };

const root = path.resolve(import.meta.dirname, "..");

const checks: Check[] = [
  { name: "types", findProblems: () => findTypeProblems("tsconfig.json") },
  { name: "types of the client", findProblems: () => findTypeProblems("sdk/tsconfig.json") },
  { name: "types of the client's tests", findProblems: () => findTypeProblems("sdk/tsconfig.test.json") },
  { name: "types of the examples", findProblems: () => findTypeProblems("examples/tsconfig.json") },
  { name: "types of the console", findProblems: () => findTypeProblems("console/tsconfig.json") },
  {
    name: "format and lint",
    findProblems: () => runTool("@biomejs/biome/bin/biome", "check", "--error-on-warnings", "."),
  },
  {
    name: "import directions",
    findProblems: async () =>
      [
        ...findLadderViolations(readServerSources(root)),
        ...findSdkLadderViolations(root),
        ...findConsoleLadderViolations(root),
      ].join("\n") || undefined,
  },
  { name: "public interface of the client", findProblems: async () => findSdkApiDrift() },
  { name: "wording", findProblems: async () => findPhrases(readWrittenFiles(root)).join("\n") || undefined },
  { name: "unused code", findProblems: () => runTool("knip/bin/knip.js", "--no-progress", "--no-config-hints") },
];

const waiting = checks.values();
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

function findTypeProblems(project: string): Promise<string | undefined> {
  return runTool("typescript/bin/tsc", "--noEmit", "-p", project);
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
