import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { constants, setPriority } from "node:os";

/** Of 19; enough that the event loop gets a processor at once, and the pool still gets all that is left. */
const niceness = 10;

/**
 * Lets the threads of the pool, once they have started, give way to the event loop: a hash may take a moment longer, a
 * request that needs none shall not wait for it. Does what it can: on Linux, where threads have a priority of their own.
 */
export function lowerThreadPoolPriority(): void {
  lowerThreads(niceness, (name) => name.startsWith("libuv-worker"));
}

/** This process gets the processor time that nobody else wants. Does what it can, like the others here. */
export function giveProcessorsWay(): void {
  const { PRIORITY_LOW } = constants.priority;
  try {
    setPriority(PRIORITY_LOW);
  } catch {
    // A sandbox may forbid it.
  }
  lowerThreads(PRIORITY_LOW);
  // Linux may let even the lowest priority finish its slice, of some milliseconds, while others wait. Not so SCHED_IDLE, which
  // only a program of the system can ask for.
  if (process.platform === "linux") spawnSync("chrt", ["-i", "-p", "0", `${process.pid}`], { stdio: "ignore" });
}

/** Those that this process has by now; what they start inherits it. */
export function lowerThreads(to: number, isMeant: (name: string) => boolean = () => true): void {
  if (process.platform !== "linux") return;
  try {
    for (const thread of readdirSync("/proc/self/task")) {
      const name = readFileSync(`/proc/self/task/${thread}/comm`, "utf8");
      if (isMeant(name)) setPriority(Number(thread), to);
    }
  } catch {
    // A sandbox may forbid it; then everything works as before.
  }
}
