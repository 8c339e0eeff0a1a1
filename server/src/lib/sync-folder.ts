import { open } from "node:fs/promises";

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
