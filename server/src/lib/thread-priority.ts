import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { constants, setPriority } from "node:os";

/** Out of 19: low enough that the event loop gets a processor immediately, while the pool gets the remaining time. */
const niceness = 10;

/**
 * Lowers the priority of the running pool threads below the event loop, so that hashing does not delay requests that
 * need no hash. Best effort: only Linux has priorities per thread.
 */
export function lowerThreadPoolPriority(): void {
  lowerThreads(niceness, (name) => name.startsWith("libuv-worker"));
}

/** Runs this process only in processor time that no other process needs. Best effort. */
export function lowerThreadPriorities(): void {
  const { PRIORITY_LOW } = constants.priority;
  try {
    setPriority(PRIORITY_LOW);
  } catch {
    // A sandbox may forbid it.
  }
  lowerThreads(PRIORITY_LOW);
  // Even with the lowest priority, Linux may let a thread finish its time slice of some milliseconds. SCHED_IDLE does
  // not, but only a system program can set it.
  if (process.platform === "linux") spawnSync("chrt", ["-i", "-p", "0", `${process.pid}`], { stdio: "ignore" });
}

/** Lowers the priority of the current threads of this process; new threads inherit it. */
export function lowerThreads(to: number, isSelected: (name: string) => boolean = () => true): void {
  if (process.platform !== "linux") return;
  try {
    for (const thread of readdirSync("/proc/self/task")) {
      const name = readFileSync(`/proc/self/task/${thread}/comm`, "utf8");
      if (isSelected(name)) setPriority(Number(thread), to);
    }
  } catch {
    // A sandbox may forbid it; then the priorities stay the same.
  }
}
