import { spawnSync } from "node:child_process";
import { availableParallelism, cpus, loadavg, release, totalmem } from "node:os";

/** The machine, without its name, for the comparison of figures. */
export function describeMachine() {
  return {
    processor: cpus()[0]?.model.trim() ?? "unknown",
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    system: `${process.platform} ${release()} ${process.arch}`,
    node: process.version,
    commit: spawnSync("git", ["rev-parse", "--short", "HEAD"], {
      cwd: import.meta.dirname,
      encoding: "utf8",
    }).stdout?.trim(),
  };
}

/** The load of the machine by all programs: processes that ran or waited, on average over the last minute. */
export function readLoadAverage(): number {
  return loadavg()[0] ?? 0;
}
