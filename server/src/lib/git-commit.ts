import { existsSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";

/**
 * Returns the commit of a checkout, without the program `git`; undefined if the folder is not a checkout, or its commit
 * cannot be read.
 */
export function readGitCommit(folder: string): string | undefined {
  try {
    const own = findGitFolder(folder);
    const head = readFileSync(join(own, "HEAD"), "utf8").trim();
    const name = /^ref: (.+)$/.exec(head)?.[1];
    const commit = name === undefined ? head : readReference(own, name);
    return commit !== undefined && /^[0-9a-f]{40,64}$/.test(commit) ? commit : undefined;
  } catch {
    return undefined;
  }
}

/** In a worktree, `.git` is a file that names the folder. */
function findGitFolder(folder: string): string {
  const git = join(folder, ".git");
  if (statSync(git).isDirectory()) return git;
  return resolve(
    folder,
    readFileSync(git, "utf8")
      .replace(/^gitdir: /, "")
      .trim(),
  );
}

function readReference(own: string, name: string): string | undefined {
  const commonFile = join(own, "commondir");
  const common = existsSync(commonFile) ? resolve(own, readFileSync(commonFile, "utf8").trim()) : own;
  const loose = [own, common].map((folder) => join(folder, name)).find((file) => existsSync(file));
  if (loose !== undefined) return readFileSync(loose, "utf8").trim();
  const packed = readFileSync(join(common, "packed-refs"), "utf8").split("\n");
  return packed.find((line) => line.endsWith(` ${name}`))?.split(" ")[0];
}
