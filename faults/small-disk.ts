import { spawnSync } from "node:child_process";
import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

/** A disk of a few megabytes. */
export interface SmallDisk {
  readonly folder: string;
  /** Fills the disk to the last byte. */
  fill(): void;
  /** Deletes the data that `fill` has written. */
  free(): void;
  unmount(): void;
}

const sizeMib = 48;

/**
 * Mounts it in memory, below the system's temporary folder, until the run ends. @returns undefined without the
 * permission to mount
 */
export function mountSmallDisk(): SmallDisk | undefined {
  const folder = mkdtempSync(path.join(tmpdir(), "rollcall-disk-"));
  const { status } = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${sizeMib}m,mode=777`, "none", folder]);
  const filler = path.join(folder, "filler");
  function unmount(): void {
    spawnSync("umount", ["--lazy", folder]);
    rmSync(folder, { recursive: true, force: true });
    process.off("exit", unmount);
  }
  if (status !== 0) {
    rmSync(folder, { recursive: true });
    return undefined;
  }
  process.on("exit", unmount);
  return {
    folder,
    fill() {
      for (const bytes of [1_000_000, 4_096, 1]) while (append(filler, bytes));
    },
    free: () => rmSync(filler, { force: true }),
    unmount,
  };
}

/** @returns the reason if no small disk can be mounted here */
export function findObstacleToMounting(): string | undefined {
  const disk = process.platform === "linux" ? mountSmallDisk() : undefined;
  disk?.unmount();
  return disk === undefined ? "no small disk can be mounted here" : undefined;
}

function append(file: string, bytes: number): boolean {
  try {
    appendFileSync(file, Buffer.alloc(bytes));
    return true;
  } catch {
    return false; // the disk is full
  }
}
