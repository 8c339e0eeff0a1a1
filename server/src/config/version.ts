import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { readGitCommit } from "../lib/git-commit.ts";

/** The release number, from package.json. */
export const version: string = manifest.version;

/** The release number and the commit, if available, which identifies the build. */
export const build: string = [version, findCommit()?.slice(0, 12)].filter(Boolean).join("+");

/**
 * Reads the commit of a package or an image from the file that `scripts/compile.ts` writes, and of a checkout from
 * `.git`.
 */
function findCommit(): string | undefined {
  const file = join(import.meta.dirname, "commit");
  if (existsSync(file)) return readFileSync(file, "utf8").trim();
  // The sources are in server/src, and the bundle of a checkout in a folder of server/.bundle.
  const roots = ["../..", "../../.."].map((path) => resolve(import.meta.dirname, path));
  const root = roots.find((each) => existsSync(join(each, "server/src/config/version.ts")));
  return root && readGitCommit(root);
}
