/**
 * Writes `server/dist`, the server as JavaScript, and adds the other files of the npm package, because Node.js does not
 * run TypeScript below node_modules. Types are replaced by blanks, so that lines and columns match the sources. Run by
 * `npm pack` (`prepack` of server/package.json).
 */
import { copyFileSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import path from "node:path";

const root = path.resolve(import.meta.dirname, "..");
const [sources, compiled] = [path.join(root, "server/src"), path.join(root, "server/dist")];

rmSync(compiled, { recursive: true, force: true });
for (const file of globSync("**/*.ts", { cwd: sources, exclude: ["**/*.test.ts"] })) {
  const target = path.join(compiled, file.replace(/\.ts$/, ".js"));
  mkdirSync(path.dirname(target), { recursive: true });
  writeFileSync(target, compile(readFileSync(path.join(sources, file), "utf8")));
}
for (const file of ["LICENSE", ".env.example"]) copyFileSync(path.join(root, file), path.join(root, "server", file));

function compile(source: string): string {
  return stripTypeScriptTypes(source).replaceAll(
    /((?:\bfrom|\bimport)\s*\(?\s*["']\.{1,2}\/[^"']+)\.ts(["'])/g,
    "$1.js$2",
  );
}
