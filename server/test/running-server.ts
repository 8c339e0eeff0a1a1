import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
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

interface SpawnOptions {
  /** What runs it, and becomes it. */
  readonly wrapper?: readonly string[];
  /** Where its output goes; nobody reads it unless somebody does. */
  readonly stdout?: "pipe" | number;
}

/** Starts the program with these settings, and does not wait for anything. */
export function spawnProgram(
  settings: Readonly<Record<string, string>>,
  { wrapper = [], stdout = "pipe" }: SpawnOptions = {},
) {
  const main = join(import.meta.dirname, "../src/main.ts");
  const [program = "", ...args] = [...wrapper, process.execPath, main];
  const env = { PATH: process.env["PATH"], PORT: "0", PASSWORD_HASH_MEMORY_KIB: "8", ...settings };
  const child = spawn(program, args, { env, stdio: ["ignore", stdout, "inherit"] });
  running.add(child);
  /** With its exit code and signal. */
  const exited = once(child, "exit").finally(() => running.delete(child));
  return { child, exited };
}

/** Gathers what a program writes. */
export function outputOf({ stdout }: ChildProcess): () => string {
  let output = "";
  stdout?.setEncoding("utf8").on("data", (text) => {
    output += text;
  });
  return () => output;
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
  const { child, exited } = spawnProgram(settings, { wrapper });
  const output = outputOf(child);
  const deadline = Date.now() + 20_000;
  let port: string | undefined;
  while (port === undefined) {
    assert.ok(Date.now() < deadline && child.exitCode === null, `it does not start: ${output()}`);
    await sleep(10);
    port = /"url":"http:\/\/127\.0\.0\.1:(\d+)"/.exec(output())?.[1];
  }
  return {
    port: Number(port),
    pid: child.pid ?? 0, // it has started
    output,
    async end(signal) {
      child.kill(signal);
      const [code] = await exited;
      return code;
    },
  };
}

/** The workers of a server, as Linux shows them: processes that it has started. */
export function workersOf({ pid }: RunningServer): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean).map(Number);
}
