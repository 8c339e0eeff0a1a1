import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { adopt, end } from "./children.ts";

/** A running server. */
export interface ServerProcess {
  readonly port: number;
  /** From its start to its first response. */
  readonly startedInMs: number;
  /** Processor time so far; NaN on systems without /proc. */
  cpuSeconds(): number;
  residentBytes(): number;
  /** Undefined on systems without /proc. */
  peakResidentBytes(): number | undefined;
  stop(): Promise<void>;
}

/** The `rollcall` program of this checkout. */
export const ownProgram = fileURLToPath(import.meta.resolve("../server/bin/rollcall.mjs"));
const startMsMax = 30_000;
const pollMs = 2;

/**
 * Runs `rollcall serve` as in production, with its log to /dev/null, and waits for its first response.
 *
 * @param settings the environment variables of its database and folder
 */
export async function startServer(
  settings: Readonly<Record<string, string>>,
  program = ownProgram,
): Promise<ServerProcess> {
  const port = await findFreePort();
  const startedAt = performance.now();
  const child = adopt(
    spawn(process.execPath, [program, "serve"], {
      cwd: import.meta.dirname, // a folder without .env
      env: {
        ...plainEnvironment(),
        // All load comes from one caller at one address.
        RATE_LIMITS: "off",
        IDEMPOTENCY_KEYS_PER_CALLER: "1000000",
        IDEMPOTENCY_BYTES_PER_CALLER: "1073741824",
        ...settings,
        HOST: "127.0.0.1",
        PORT: String(port),
        LOG_LEVEL: "info",
      },
      stdio: ["ignore", "ignore", "inherit"],
    }),
  );
  while (!(await isAnswering(port))) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error("the server did not start");
    if (performance.now() - startedAt > startMsMax) throw new Error("the server did not start in time");
    await delay(pollMs);
  }
  const startedInMs = performance.now() - startedAt;
  const pid = child.pid ?? 0; // defined, because the server answers
  return {
    port,
    startedInMs,
    cpuSeconds: () => readCpuSeconds(pid),
    residentBytes: () => readMemory(pid, "VmRSS") ?? readMemoryOfPs(pid),
    peakResidentBytes: () => readMemory(pid, "VmHWM"),
    stop: () => end(child),
  };
}

/** The environment variables that programs need, without settings that would change the measurement. */
export function plainEnvironment(): Record<string, string> {
  const kept = ["PATH", "HOME", "TMPDIR", "SystemRoot"];
  return Object.fromEntries(kept.map((name) => [name, process.env[name] ?? ""]).filter(([, value]) => value !== ""));
}

/** Finds an unused port of 127.0.0.1. */
export async function findFreePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const address = probe.address();
  probe.close();
  await once(probe, "close");
  if (address === null || typeof address === "string") throw new Error("no free port");
  return address.port;
}

/** Resolves with false while the port is closed. */
function isAnswering(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => resolve(false));
    socket.on("close", () => resolve(false));
    socket.on("data", (data) => {
      resolve(data.toString("latin1").startsWith("HTTP/1.1 200 "));
      socket.destroy();
    });
    socket.write("GET /service/ping HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
  });
}

/**
 * User and system time of /proc/PID/stat, in its ticks of 10 ms.
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

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
}

/** The resident set of a process now, or its maximum; undefined on systems without /proc. */
export function readMemory(pid: number, field: "VmRSS" | "VmHWM"): number | undefined {
  if (process.platform !== "linux") return undefined;
  const kibibytes = new RegExp(`^${field}:\\s*(\\d+) kB$`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return kibibytes === undefined ? undefined : Number(kibibytes) * 1024;
}

function readMemoryOfPs(pid: number): number {
  return Number(spawnSync("ps", ["-o", "rss=", "-p", String(pid)], { encoding: "utf8" }).stdout) * 1024;
}
