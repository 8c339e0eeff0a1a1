import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { fieldsOf } from "../lib/fields.ts";
import { PlainFailure } from "./failure.ts";
import { settings } from "./settings.ts";
import { workerNumber } from "./worker-number.ts";

/**
 * Adds the variables of the file `.env` in the working directory to `process.env`. A variable that is set in the real
 * environment, even to an empty value, takes precedence.
 *
 * @returns the names from the file; empty in a worker, which inherits the variables of the supervisor
 * @throws PlainFailure if the file cannot be read
 */
export function loadEnvironmentFile(folder = process.cwd()): ReadonlySet<string> {
  if (workerNumber !== undefined) return new Set();
  const added = Object.entries(readEnvironmentFile(join(folder, ".env"))).filter(
    ([name]) => process.env[name] === undefined,
  );
  for (const [name, value] of added) process.env[name] = value;
  return new Set(added.map(([name]) => name));
}

function readEnvironmentFile(file: string): NodeJS.Dict<string> {
  try {
    // Ignores a folder `.env`, which is often a Python virtual environment.
    if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return {};
    const text = readFileSync(file, "utf8").replace(/^\ufeff/, "");
    const variables = parseEnv(text);
    requireAssignments(file, text, variables);
    return variables;
  } catch (error) {
    if (error instanceof PlainFailure) throw error;
    throw new PlainFailure(`${file}: cannot be read (${fieldsOf(error).code}).`);
  }
}

/**
 * Refuses lines that begin with the name of a setting without an assignment, such as `PORT: 8080`, which the parser
 * skips.
 *
 * @throws PlainFailure
 */
function requireAssignments(file: string, text: string, variables: NodeJS.Dict<string>): void {
  const names = new Set(settings.map(({ name }) => name));
  for (const [index, line] of text.split("\n").entries()) {
    const [, name = ""] = /^\s*(?:export\s+)?([A-Z][A-Z0-9_]*)(?!\s*=|[A-Z0-9_])/.exec(line) ?? [];
    if (!names.has(name) || variables[name] !== undefined) continue;
    throw new PlainFailure(`${file}: line ${index + 1} sets nothing. Write ${name}=value.`);
  }
}
