import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import type { TestWork } from "./test-worker.ts";

/**
 * Files share processes, because importing the server costs more than many a test file, but not the leftovers of all.
 */
const filesPerProcess = 25;

/**
 * The source text of a file that measures or changes state shared by all files of a process; such a file has its own
 * process.
 */
const processWide = /processor-time|steady-clock|process\.(?:cpuUsage|memoryUsage|env\[.*\] = )|\bmock\.method/;

interface Plan extends Pick<TestWork, "root" | "env" | "files" | "seed" | "costs"> {
  /** The engine and the lane, for the names of the programs. */
  readonly name: string;
  /** Where the programs are written. */
  readonly folder: string;
  readonly processesAtOnce: number;
}

/**
 * Writes the programs that run test files on an engine: each is one process.
 *
 * @returns their paths, in the order in which they should start
 */
export function writeTestPrograms({ root, env, files, seed, costs, name, folder, processesAtOnce }: Plan): string[] {
  const alone = files.filter((file) => processWide.test(textOf(root, file)));
  const shared = files.filter((file) => !alone.includes(file));
  // Some more than needed, because a process that crashes leaves its files to others.
  const sharing = Math.min(shared.length, Math.ceil(shared.length / filesPerProcess) + processesAtOnce);
  const groups = [...alone.map((file) => [file]), ...Array.from({ length: sharing }, () => shared)];
  return groups.map((group, index) => {
    const claims = path.join(folder, `${name}-claims-${group === shared ? "shared" : index}`);
    mkdirSync(claims, { recursive: true });
    const work: TestWork = { root, env, files: group, claims, seed, costs, filesMax: filesPerProcess };
    const worker = pathToFileURL(path.join(root, "scripts/test-worker.ts"));
    const program = path.join(folder, `${name}-${index}.mjs`);
    const lines = [`import { runTestFiles } from "${worker}";`, `await runTestFiles(${JSON.stringify(work)});`, ""];
    writeFileSync(program, lines.join("\n"));
    return program;
  });
}

function textOf(root: string, file: string): string {
  return readFileSync(path.join(root, file), "utf8");
}
