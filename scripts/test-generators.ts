/**
 * Generates clients from the OpenAPI documents in docs/, compiles them, and makes calls with them: `npm run test:generators`. Also compiles
 * and runs the snippets in Kotlin, Swift and C# of the console. A generator whose programs or packages are missing is named as skipped in the last lines.
 */
import { createHash } from "node:crypto";
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { startThrowaway } from "../server/testing.mjs";
import { findProgram } from "./find-program.ts";
import { openApiGenerators } from "./generators/openapi-generator.ts";
import { pythonClient } from "./generators/python.ts";
import { csharpSnippet, kotlinSnippet, swiftSnippet } from "./generators/start-snippets.ts";
import { type Generator, Unavailable, type Workplace } from "./generators/tools.ts";
import { typescript } from "./generators/typescript.ts";

const generators: readonly Generator[] = [
  typescript,
  pythonClient,
  ...openApiGenerators,
  kotlinSnippet,
  swiftSnippet,
  csharpSnippet,
];
const names = generators.map(({ name }) => name);

const root = path.resolve(import.meta.dirname, "..");
const documents = {
  clients: path.join(root, "docs/openapi.json"),
  operators: path.join(root, "docs/openapi.operators.json"),
};
const passedFile = path.join(root, "scripts/generators/passed.txt");

const usage = `Usage: npm run test:generators -- [options]

Generates clients from docs/openapi.json and docs/openapi.operators.json, compiles them, and makes calls with those of
apps at a server that it starts. A generator whose programs or packages are missing is skipped, except for typescript.

  --only NAME  this generator only; may be given several times: ${names.join(", ")}
  --if-changed does nothing if the typescript generator has passed with these documents: scripts/generators/passed.txt, which
               each pass writes, has the digest of them and of the generators
  --help       print this text

The exit code is 0 without failures, 1 with failures, 2 when the command is wrong.
`;

const { only = names, help, "if-changed": onlyIfChanged } = readOptions();
if (help === true) {
  console.log(usage);
  process.exit(0);
}
if (onlyIfChanged && readFileSync(passedFile, "utf8").trim() === digestOfSources()) {
  console.log("Neither the documents nor the generators have changed since they passed.");
  process.exit(0);
}

const folder = mkdtempSync(path.join(tmpdir(), "rollcall-generators-"));
const { url, appid, appkey, stop } = await startThrowaway();
const outcomes = { passed: 0, failed: 0 };
const skipped: string[] = [];
for (const generator of generators.filter(({ name }) => only.includes(name))) await tryOut(generator);
await stop();
rmSync(folder, { recursive: true, force: true });

for (const line of skipped) console.log(line);
console.log(`${outcomes.passed} passed, ${outcomes.failed} failed, ${skipped.length} skipped`);
process.exitCode = outcomes.failed === 0 ? 0 : 1;

function readOptions() {
  try {
    const options = {
      only: { type: "string", multiple: true },
      "if-changed": { type: "boolean" },
      help: { type: "boolean" },
    } as const;
    const { values } = parseArgs({ options });
    const unknown = values.only?.filter((name) => !names.includes(name)) ?? [];
    if (unknown.length === 0) return values;
    console.error(`There is no generator ${unknown.join(", ")}.\n\n${usage}`);
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`); // parseArgs throws a TypeError
  }
  process.exit(2);
}

async function tryOut(generator: Generator): Promise<void> {
  const { name, programs, mayBeSkipped } = generator;
  const startedAt = performance.now();
  try {
    const missing = programs.filter((program) => findProgram(program) === undefined);
    if (missing.length > 0) throw new Unavailable(`it needs ${missing.join(" and ")}`);
    await generator.run(workplaceOf(name));
    console.log(`✓ ${name} (${Math.round((performance.now() - startedAt) / 1_000)} s)`);
    outcomes.passed += 1;
    if (generator === typescript) writeFileSync(passedFile, `${digestOfSources()}\n`);
  } catch (error) {
    if (error instanceof Unavailable && mayBeSkipped) skipped.push(`- ${name} was skipped: ${error.message}`);
    else {
      console.log(`✖ ${name}: ${(error as Error).message}`); // generators throw nothing else
      outcomes.failed += 1;
    }
  }
}

function workplaceOf(name: string): Workplace {
  const own = path.join(folder, name);
  mkdirSync(own);
  return {
    folder: own,
    documents,
    server: { ROLLCALL_URL: url, ROLLCALL_APPID: appid, ROLLCALL_APPKEY: appkey },
  };
}

/** The digest of the documents, of the generators and of their versions. */
function digestOfSources(): string {
  const sources = globSync("scripts/{test-generators.ts,generators/*.ts}", { cwd: root }).sort();
  const hash = createHash("sha256");
  for (const file of [...Object.values(documents), ...sources.map((file) => path.join(root, file))])
    hash.update(readFileSync(file));
  return hash.digest("hex");
}
