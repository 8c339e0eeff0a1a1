import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";

const root = path.resolve(import.meta.dirname, "../..");
const run = promisify(execFile);

/** Checks the types of programs in a folder, as an app would. Returns the messages of the compiler. */
export async function compilePrograms(folder: string, files: readonly string[]): Promise<string> {
  const settings = {
    extends: path.join(root, "sdk/tsconfig.test.json"),
    compilerOptions: { typeRoots: [path.join(root, "node_modules/@types")], noEmit: true, noUnusedLocals: false },
    include: [],
    files,
  };
  writeFileSync(path.join(folder, "package.json"), JSON.stringify({ type: "module" }));
  writeFileSync(path.join(folder, "tsconfig.json"), JSON.stringify(settings));
  const compiler = path.join(root, "node_modules/typescript/bin/tsc");
  const { stdout } = await run(process.execPath, [compiler, "-p", folder]).catch((error) => error);
  return stdout.trim();
}
