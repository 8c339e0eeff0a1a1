import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { brotliCompressSync, brotliDecompressSync } from "node:zlib";

const scriptsAndStyles = ["swagger-ui-bundle.js", "swagger-ui.css"];
const notices = ["LICENSE", "NOTICE"];

/**
 * Writes the compressed files of Swagger UI that `/_/docs` loads into a folder. `swagger-ui-dist` is not a dependency
 * of the server, because it depends on a package that reports every installation to its maker.
 *
 * @returns the files that were missing or outdated
 */
export function writeDocsAssets(folder: string): string[] {
  mkdirSync(folder, { recursive: true });
  const wrong = scriptsAndStyles.filter((name) => !isUpToDate(folder, name));
  for (const name of wrong)
    writeFileSync(path.join(folder, `${name}.br`), brotliCompressSync(readFileSync(source(name))));
  for (const name of notices) copyFileSync(source(name), path.join(folder, name));
  return wrong.map((name) => `${name}.br`);
}

function isUpToDate(folder: string, name: string): boolean {
  const file = path.join(folder, `${name}.br`);
  return existsSync(file) && brotliDecompressSync(readFileSync(file)).equals(readFileSync(source(name)));
}

function source(name: string): string {
  return createRequire(import.meta.url).resolve(`swagger-ui-dist/${name}`);
}
