import { existsSync, mkdirSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname } from "node:path";
import { fieldsOf } from "./fields.ts";

/**
 * Creates a folder and its parents with mode 0700.
 *
 * Does not use `mkdirSync` with `recursive`, which retries endlessly if the system returns ENOENT although the parent
 * exists, as in /proc.
 *
 * @returns the topmost folder that was created; undefined if all existed
 */
export function makeFolder(path: string): string | undefined {
  const missing: string[] = [];
  for (let folder = path; !existsSync(folder); folder = dirname(folder)) {
    missing.unshift(folder);
    if (folder === dirname(folder)) break;
  }
  for (const folder of missing) {
    try {
      mkdirSync(folder, { mode: 0o700 });
    } catch (error) {
      if (fieldsOf(error).code !== "EEXIST") throw error; // another process has created it
    }
  }
  if (missing.length === 0) mkdirSync(path, { recursive: true }); // throws EEXIST for a file
  return missing[0];
}

/** Flushes the entries of a folder to disk. */
export async function syncFolder(path: string): Promise<void> {
  if (process.platform === "win32") return; // which cannot flush folders, and does not need to
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
