import { spawn } from "node:child_process";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { adopt, end } from "../testkit/children.ts";
import { findFreePort } from "../testkit/free-port.ts";
import { plainEnvironment, readCpuSeconds, readMemory, residentBytes } from "../testkit/processes.ts";
import { rollcall } from "../testkit/server.ts";

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

const startMsMax = 30_000;
const pollMs = 2;

/**
 * Runs `rollcall serve` as in production, with its log to /dev/null, and waits for its first response.
 *
 * @param settings the environment variables of its database and folder
 */
export async function startServer(
  settings: Readonly<Record<string, string>>,
  program = rollcall,
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
    residentBytes: () => residentBytes({ pid }),
    peakResidentBytes: () => readMemory(pid, "VmHWM"),
    stop: () => end(child),
  };
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
