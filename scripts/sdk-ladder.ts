import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { findCycles, findImports } from "./import-ladder.ts";

const sourceRoot = "sdk/src/";

// The folders of sdk/src, from left to right; the files directly in it are the entries of the package, further right.
const steps = ["lib", "wire", "generated", "transport", "pages", "batch", "identity", "nouns", "parts"];

/**
 * Checks the import directions of sdk/src, and that it imports nothing of ours from outside and has no cycles of files.
 *
 * @returns one sentence for each violation
 */
export function findSdkLadderViolations(root: string): string[] {
  const files = globSync(`${sourceRoot}**/*.ts`, { cwd: root, exclude: ["**/*.test.ts"] })
    .map((file) => file.replaceAll(path.sep, "/"))
    .sort();
  const violations: string[] = [];
  const graph = new Map<string, string[]>();
  for (const importer of files) {
    const specifiers = findImports(readFileSync(path.join(root, importer), "utf8"));
    const imported = specifiers.map((specifier) => path.posix.join(path.posix.dirname(importer), specifier));
    graph.set(importer, imported);
    if (rankOf(importer) < 0) violations.push(`${importer}: its folder has no place in scripts/sdk-ladder.ts`);
    for (const file of imported) {
      if (!file.startsWith(sourceRoot)) violations.push(`${importer} imports ${file}: the client stands alone`);
      else if (rankOf(file) > rankOf(importer)) violations.push(`${importer} imports ${file}: imports go only left`);
    }
  }
  return [...violations, ...findCycles(graph).map((cycle) => `${cycle.join(" -> ")}: no cycles`)];
}

function rankOf(file: string): number {
  const [folder = "", ...rest] = file.slice(sourceRoot.length).split("/");
  return rest.length === 0 ? steps.length : steps.indexOf(folder);
}
