import { open } from "node:fs/promises";

/** Puts the names in a folder on the disk. */
export async function syncFolder(path: string): Promise<void> {
  if (process.platform === "win32") return; // which cannot, and need not
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
