import { statfs } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { type WrittenFolders, writtenFolders } from "./storage-health.ts";

/** The space of a disk. */
export interface FreeSpace {
  readonly freeBytes: number;
  readonly diskBytes: number;
}

const waitMs = 1_000;

/** Measures the fullest disk that the process writes to. */
export function createFreeSpace(config: WrittenFolders): {
  /** Resolves within a second, with an earlier value where the file system does not answer; undefined without a disk. */
  measure(): Promise<FreeSpace | undefined>;
} {
  let last: FreeSpace | undefined;
  let running: Promise<void> | undefined;

  async function look(): Promise<void> {
    const found = await Promise.all(writtenFolders(config).map(([, folder]) => measureDisk(folder)));
    last = found
      .filter((space) => space !== undefined)
      .reduce<FreeSpace | undefined>((a, b) => (a === undefined || b.freeBytes < a.freeBytes ? b : a), undefined);
  }

  return {
    async measure() {
      // Never two concurrent measurements: a file system that hangs would occupy every thread that reads files.
      running ??= look().finally(() => {
        running = undefined;
      });
      await Promise.race([running, sleep(waitMs, undefined, { ref: false })]);
      return last;
    },
  };
}

async function measureDisk(folder: string): Promise<FreeSpace | undefined> {
  try {
    const { bavail, blocks, bsize } = await statfs(folder);
    return { freeBytes: bavail * bsize, diskBytes: blocks * bsize };
  } catch {
    return undefined; // readiness probes report a folder that cannot be used
  }
}
