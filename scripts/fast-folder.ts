import { existsSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";

const memory = "/dev/shm";
const memoryBytesMin = 2_000_000_000;

/** The parent of folders that need not survive the run: in memory where possible, so that a slow disk cannot fail it. */
export function fastFolder(): string {
  if (!existsSync(memory)) return tmpdir();
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize > memoryBytesMin ? memory : tmpdir();
}
