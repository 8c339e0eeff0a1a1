import { globSync, readFileSync } from "node:fs";
import path from "node:path";

/** A source file: its path from the root of the repository, with forward slashes, and its text. */
export type SourceFile = { path: string; text: string };

const sourceRoot = "server/src/";

// The entries directly below server/src, from left to right; any other folder is a slice. Imports stay within their
// step or go left, and the folders of a step do not import each other, except in the first step.
const ladder = [
  ["lib", "config", "crashes", "workers"],
  ["contract", "db"],
  ["jobs", "limits"],
  ["operations"],
  ["http"],
  ["event-log", "idempotency", "pictures", "privacy", "regions", "tenancy"],
  ["auth", "mail", "storage"],
  ["audit", "owned"],
  ["slices"],
  ["archives"],
  ["app"],
  ["cli"],
  ["main.ts"],
];
const ofHttp = new Set(["contract", "operations", "http"]);
/** Names the types of all services, from anywhere; it is empty when it runs. */
const typesOfServices = "server/src/operations/services.ts";
const ranks = new Map(ladder.flatMap((names, rank) => names.map((name) => [name, rank] as const)));

/** Every source file of the server, as `findLadderViolations` expects them. */
export function readServerSources(root: string): SourceFile[] {
  return readSources(root, sourceRoot);
}

function readSources(root: string, folder: string): SourceFile[] {
  return globSync(`${folder}**/*.{ts,tsx}`, { cwd: root })
    .map((file) => ({ path: file.replaceAll(path.sep, "/"), text: readFileSync(path.join(root, file), "utf8") }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

/**
 * Checks the import directions of server/src, and that there are no cycles of files or folders, no barrels and no
 * imports from outside. Tests may import anything.
 *
 * @returns one sentence for each violation
 */
export function findLadderViolations(files: SourceFile[]): string[] {
  const sources = files.filter((file) => file.path.startsWith(sourceRoot) && !file.path.endsWith(".test.ts"));
  const imports = new Map(sources.map((file) => [file.path, findImports(file.text)]));
  const violations: string[] = [];
  for (const { path: file, text } of sources) {
    if (file === typesOfServices && /^import (?!type\b)/m.test(text)) violations.push(`${file}: imports types alone`);
  }
  for (const [importer, specifiers] of imports) {
    const problem = findMisplacement(importer);
    if (problem !== undefined) violations.push(`${importer}: ${problem}`);
    for (const specifier of specifiers) {
      const problem = findImportProblem(importer, specifier);
      if (problem !== undefined) violations.push(`${importer} imports ${specifier}: ${problem}`);
    }
  }
  const graph = new Map([...imports].map(([file, specifiers]) => [file, specifiers.map((to) => resolve(file, to))]));
  const cycles = findCycles(graph).map((cycle) => `${cycle.join(" -> ")}: no cycles`);
  const cyclesOfFolders = findCycles(joinByTop(graph)).map((cycle) => `${cycle.join(" -> ")}: no cycles of folders`);
  return [...violations, ...cycles, ...cyclesOfFolders];
}

/** The module specifiers in a text that could be ours: relative, absolute, aliased or by package name. */
function findImports(text: string): string[] {
  const code = text.replaceAll(/^\s*(\/\/|\/?\*).*$/gm, "");
  const statements = code.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*["']([^"']+)["']/g);
  return [...statements]
    .map((match) => match[1] ?? "")
    .filter((specifier) => /^(\.|\/|#|file:|rollcall(\/|$))/.test(specifier));
}

function findMisplacement(file: string): string | undefined {
  if (path.posix.basename(file) === "index.ts") return "no barrels, import from the file itself";
  if (rankOf(file) === undefined) return "has no place on the ladder in scripts/import-ladder.ts";
  return undefined;
}

function findImportProblem(importer: string, specifier: string): string | undefined {
  if (!specifier.startsWith(".")) return "our own code is imported by relative path";
  const imported = resolve(importer, specifier);
  if (importer === typesOfServices) return undefined;
  if (imported.endsWith(".json")) return undefined; // data, such as the version in package.json
  if (!imported.startsWith(sourceRoot)) return "server/src imports nothing of ours from outside itself";
  if (imported.endsWith(".test.ts")) return "only tests import tests";
  const [from, to] = [topOf(importer), topOf(imported)];
  if (from === "lib" && to !== "lib") return "lib imports nothing of ours";
  const [fromRank, toRank] = [rankOf(importer), rankOf(imported)];
  if (fromRank === undefined || toRank === undefined) return undefined; // reported as misplaced
  if (toRank > fromRank) return `${from} is left of ${to}, and imports go only left`;
  if (isEngine(importer) && (ofHttp.has(to) || (from === to && !isEngine(imported)))) return "an engine knows no HTTP";
  if (toRank < fromRank || from === to) return undefined;
  if (fromRank === ranks.get("slices")) return "slices do not import slices";
  if (fromRank === ranks.get("db")) return "contract and db do not import each other";
  const areFolders = !from.endsWith(".ts") && !to.endsWith(".ts");
  if (fromRank > 0 && areFolders) return `${from} and ${to} are on the same step, and do not import each other`;
  return undefined;
}

/** The entry directly below server/src that contains a path. */
function topOf(file: string): string {
  return file.slice(sourceRoot.length).split("/")[0] ?? "";
}

/** The engine of a noun, below its routes and contracts. */
function isEngine(file: string): boolean {
  return file.startsWith(`${sourceRoot}${topOf(file)}/engine/`);
}

function rankOf(file: string): number | undefined {
  const top = topOf(file);
  return ranks.get(top) ?? (top.endsWith(".ts") ? undefined : ranks.get("slices"));
}

function resolve(importer: string, specifier: string): string {
  return path.posix.join(path.posix.dirname(importer), specifier);
}

/** The same graph between the entries directly below server/src. */
function joinByTop(graph: Map<string, string[]>): Map<string, string[]> {
  const joined = new Map<string, string[]>();
  for (const [file, imported] of graph) {
    if (file === typesOfServices) continue;
    const top = topOf(file);
    const others = imported.filter((to) => to.startsWith(sourceRoot) && topOf(to) !== top);
    joined.set(top, [...new Set([...(joined.get(top) ?? []), ...others.map(topOf)])]);
  }
  return joined;
}

/** One cycle for each import that closes one, found depth first. */
function findCycles(graph: Map<string, string[]>): string[][] {
  const cycles: string[][] = [];
  const done = new Set<string>();
  const visit = (file: string, trail: string[]) => {
    const start = trail.indexOf(file);
    if (start >= 0) cycles.push([...trail.slice(start), file]);
    if (start >= 0 || done.has(file)) return;
    for (const imported of graph.get(file) ?? []) visit(imported, [...trail, file]);
    done.add(file);
  };
  for (const file of graph.keys()) visit(file, []);
  return cycles;
}

/** Modules of the server that the console bundles, so that both follow one rule. They import only each other. */
const sharedWithConsole: readonly string[] = [
  "server/src/event-log/event-types.ts",
  "server/src/lib/kinds.ts",
  "server/src/lib/origins.ts",
];

/** The steps of the client and of the console. Any other folder is on the step of `*`, and any other file on that of `*.ts`. */
const packages = [
  {
    folder: "sdk/src/",
    steps: ["lib", "wire", "generated", "transport", "pages", "batch", "identity", "nouns", "parts", "*.ts"],
    isOpenTo: () => false,
    outside: "the client stands alone",
  },
  {
    folder: "console/src/",
    steps: ["lib", "ui", "api", "shell", "*", "routes.tsx", "main.tsx"], // screens are on the step of *
    isOpenTo: (importer: string, file: string) =>
      sharedWithConsole.includes(file) || (importer.startsWith("console/src/api/") && file.startsWith("sdk/src/")),
    outside: "only api imports the client",
  },
];

/**
 * Checks the import directions of the client and of the console, and that they have no cycles of files. The console has the
 * modules of the server that both share, and the calls of the client.
 *
 * @returns one sentence for each violation
 */
export function findPackageViolations(root: string): string[] {
  const notBundled = sharedWithConsole.flatMap((file) =>
    findImports(readFileSync(path.join(root, file), "utf8"))
      .map((specifier) => resolve(file, specifier))
      .filter((imported) => !sharedWithConsole.includes(imported))
      .map((imported) => `${file}: imports ${imported}, which the console does not bundle`),
  );
  return [...notBundled, ...packages.flatMap((each) => findViolations(each, readSources(root, each.folder)))];
}

function findViolations(
  { folder, steps, isOpenTo, outside }: (typeof packages)[number],
  files: SourceFile[],
): string[] {
  const topOf = (file: string) => file.slice(folder.length).split("/", 1)[0] ?? "";
  const rankOf = (file: string) => {
    const step = steps.indexOf(topOf(file));
    return step < 0 ? steps.indexOf(topOf(file).endsWith(".ts") ? "*.ts" : "*") : step;
  };
  const violations: string[] = [];
  const graph = new Map<string, string[]>();
  for (const { path: importer, text } of files.filter((file) => !/\.(test|d)\.ts$/.test(file.path))) {
    if (/\bfrom "react-aria-components"/.test(text.replaceAll(/^import type .*$/gm, "")))
      violations.push(`${importer}: imported by its root, a library comes as a whole; import its part`);
    const rank = rankOf(importer);
    if (rank < 0) violations.push(`${importer}: has no place on the ladder in scripts/import-ladder.ts`);
    const imported = findImports(text)
      .map((specifier) => resolve(importer, specifier))
      .filter((file) => !file.endsWith(".css"));
    graph.set(importer, imported);
    for (const file of imported) {
      const isScreen = rank === steps.indexOf("*") && rankOf(file) === rank;
      if (isOpenTo(importer, file)) continue;
      if (!file.startsWith(folder)) violations.push(`${importer} imports ${file}: ${outside}`);
      else if (rankOf(file) > rank) violations.push(`${importer} imports ${file}: imports go only left`);
      else if (isScreen && topOf(file) !== topOf(importer))
        violations.push(`${importer} imports ${file}: screens import no other screen`);
    }
  }
  return [...violations, ...findCycles(graph).map((cycle) => `${cycle.join(" -> ")}: no cycles`)];
}
