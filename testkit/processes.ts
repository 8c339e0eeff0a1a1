import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** The environment variables that programs need, without settings that would change a result. */
export function plainEnvironment(): Record<string, string> {
  const kept = ["PATH", "HOME", "TMPDIR", "SystemRoot"];
  return Object.fromEntries(kept.map((name) => [name, process.env[name] ?? ""]).filter(([, value]) => value !== ""));
}

/**
 * User and system time of /proc/PID/stat, in its ticks of 10 ms; NaN on systems without /proc.
 *
 * @param fields 4 to add the times of children that have ended
 */
export function readCpuSeconds(pid: number, fields: 2 | 4 = 2): number {
  if (process.platform !== "linux") return Number.NaN;
  const afterName = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /s, "")
    .split(" ");
  const ticks = afterName.slice(11, 11 + fields).reduce((sum, value) => sum + Number(value), 0);
  return ticks / 100;
}

/** The processor time of a process, of its children, and of the children that have ended. */
export function readTreeCpuSeconds(pid: number): number {
  if (process.platform !== "linux") return Number.NaN;
  const times = childrenOf(pid).map((child) => {
    try {
      return readCpuSeconds(child);
    } catch {
      return 0; // it has ended
    }
  });
  return readCpuSeconds(pid, 4) + times.reduce((sum, seconds) => sum + seconds, 0);
}

/** The resident set of a process and of its children. */
export function readTreeResidentBytes(pid: number): number {
  if (process.platform !== "linux") return Number.NaN;
  return [pid, ...childrenOf(pid)].reduce((sum, each) => sum + (readMemory(each, "VmRSS") ?? 0), 0);
}

/** The child processes, such as the workers of a server, as Linux lists them. */
export function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
}

/** The resident set of a process now, or its maximum; undefined on systems without /proc. */
export function readMemory(pid: number, field: "VmRSS" | "VmHWM"): number | undefined {
  if (process.platform !== "linux") return undefined;
  const kibibytes = new RegExp(`^${field}:\\s*(\\d+) kB$`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return kibibytes === undefined ? undefined : Number(kibibytes) * 1024;
}

/** The resident set of a process. */
export function residentBytes({ pid }: { readonly pid: number }): number {
  const ofPs = () => spawnSync("ps", ["-o", "rss=", "-p", String(pid)], { encoding: "utf8" }).stdout;
  return readMemory(pid, "VmRSS") ?? Number(ofPs()) * 1024;
}
