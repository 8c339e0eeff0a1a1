import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { findCycles, findImports } from "./import-ladder.ts";

const sourceRoot = "console/src/";

// The folders of console/src, from left to right. Folders that are not named are nouns, whose screens import no other noun.
const steps = ["lib", "ui", "api", "shell"];
const nounRank = steps.length;
const routesRank = nounRank + 1;
const mainRank = routesRank + 1;

/** Modules of the server that the console bundles, so that both follow one rule. They import only each other. */
const sharedWithServer: readonly string[] = [
  "server/src/event-log/event-types.ts",
  "server/src/lib/kinds.ts",
  "server/src/lib/origins.ts",
];

/** The folder whose files import the client: its generated calls, and how values are encoded. */
const callingFolder = "api";

/**
 * Checks the import directions of console/src: lib, ui, api, shell, nouns, routes, main. Of the server it has the modules that
 * both share, and of the client the calls.
 *
 * @returns one sentence for each violation
 */
export function findConsoleLadderViolations(root: string): string[] {
  const files = globSync(`${sourceRoot}**/*.{ts,tsx}`, { cwd: root })
    .map((file) => file.replaceAll(path.sep, "/"))
    .sort();
  const violations: string[] = [];
  const graph = new Map<string, string[]>();
  for (const importer of files) {
    const text = readFileSync(path.join(root, importer), "utf8");
    if (/\bfrom "react-aria-components"/.test(text.replaceAll(/^import type .*$/gm, "")))
      violations.push(`${importer}: imported by its root, a library comes as a whole; import its part`);
    const imported = findImports(text)
      .map((specifier) => path.posix.join(path.posix.dirname(importer), specifier))
      .filter((file) => !file.endsWith(".css"));
    graph.set(importer, imported);
    violations.push(...imported.flatMap((file) => findImportProblem(importer, file) ?? []));
  }
  for (const shared of sharedWithServer) {
    const imported = findImports(readFileSync(path.join(root, shared), "utf8"));
    const others = imported.filter(
      (file) => !sharedWithServer.includes(path.posix.join(path.posix.dirname(shared), file)),
    );
    if (others.length > 0)
      violations.push(`${shared}: imports ${others.join(", ")}, which the console does not bundle`);
  }
  return [...violations, ...findCycles(graph).map((cycle) => `${cycle.join(" -> ")}: no cycles`)];
}

function findImportProblem(importer: string, file: string): string | undefined {
  if (sharedWithServer.includes(file)) return undefined;
  if (file.startsWith("sdk/src/") && folderOf(importer) === callingFolder) return undefined;
  if (!file.startsWith(sourceRoot)) return `${importer} imports ${file}: only ${callingFolder} imports the client`;
  const [from, to] = [rankOf(importer), rankOf(file)];
  if (to > from) return `${importer} imports ${file}: imports go only left`;
  if (from === nounRank && to === nounRank && folderOf(importer) !== folderOf(file))
    return `${importer} imports ${file}: screens import no other screen`;
  return undefined;
}

function rankOf(file: string): number {
  const folder = folderOf(file);
  if (folder === "main.tsx") return mainRank;
  if (folder === "routes.tsx") return routesRank;
  const step = steps.indexOf(folder);
  return step < 0 ? nounRank : step;
}

function folderOf(file: string): string {
  return file.slice(sourceRoot.length).split("/", 1)[0] ?? "";
}
