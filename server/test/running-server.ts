import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** The program itself, `node server/src/main.ts`, on a free port. */
export interface RunningServer {
  readonly port: number;
  readonly pid: number;
  readonly output: () => string;
  /** Sends the signal and waits for the end. @returns the exit code */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

const running = new Set<ChildProcess>();

/** Ends what a test that failed has left. */
export function killRunningServers(): void {
  for (const child of running) child.kill("SIGKILL");
}

/**
 * Starts the program with these settings and waits until it listens.
 *
 * @param wrapper what runs it, and becomes it
 */
export async function startProgram(
  settings: Readonly<Record<string, string>>,
  wrapper: readonly string[] = [],
): Promise<RunningServer> {
  const main = join(import.meta.dirname, "../src/main.ts");
  const [program = "", ...args] = [...wrapper, process.execPath, main];
  const env = { PATH: process.env["PATH"], PORT: "0", PASSWORD_HASH_MEMORY_KIB: "8", ...settings };
  const child = spawn(program, args, { env, stdio: ["ignore", "pipe", "inherit"] });
  running.add(child);
  const exited = once(child, "exit").finally(() => running.delete(child));
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text) => {
    output += text;
  });
  const deadline = Date.now() + 20_000;
  let port: string | undefined;
  while (port === undefined) {
    assert.ok(Date.now() < deadline && child.exitCode === null, `it does not start: ${output}`);
    await sleep(10);
    port = /"url":"http:\/\/127\.0\.0\.1:(\d+)"/.exec(output)?.[1];
  }
  return {
    port: Number(port),
    pid: child.pid ?? 0, // it has started
    output: () => output,
    async end(signal) {
      child.kill(signal);
      const [code] = await exited;
      return code;
    },
  };
}
