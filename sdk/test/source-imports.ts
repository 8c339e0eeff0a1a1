import path from "node:path";

const root = path.resolve(import.meta.dirname, "../..");

/** A program that imports the sources of the client in place of the installed package. */
export function importSources(program: string): string {
  return program.replaceAll(
    /"@rollcall\/sdk(?:\/([a-z]+))?"/g,
    (_, entry = "index") => `"${path.join(root, `sdk/src/${entry}.ts`)}"`,
  );
}
