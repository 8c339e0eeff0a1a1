import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { PlainFailure } from "./failure.ts";
import { fieldsOf } from "./lib/fields.ts";
import { workerNumber } from "./worker-number.ts";

/**
 * Adds the variables of the file `.env` in the working directory to `process.env`. A variable that is set in the real
 * environment, even to an empty value, takes precedence.
 *
 * @returns the names that come from the file; none in a worker, which inherits the variables of its supervisor
 * @throws PlainFailure when the file cannot be read
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
    // A Python virtual environment is often a folder of this name.
    if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return {};
    return parseEnv(readFileSync(file, "utf8").replace(/^\ufeff/, ""));
  } catch (error) {
    throw new PlainFailure(`${file}: cannot be read (${fieldsOf(error).code}).`);
  }
}
