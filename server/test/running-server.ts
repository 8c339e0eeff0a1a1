import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { adopt, killEverything } from "../../testkit/children.ts";
import { childrenOf } from "../../testkit/processes.ts";
import { type RunningServer, rollcall, untilListening } from "../../testkit/server.ts";

export type { RunningServer };
export { killEverything as killRunningServers, rollcall };

/** A working directory without a developer's `.env`, which programs would read. */
export const noEnvFile = import.meta.dirname;

/** The environment of `rollcall serve`: without the settings of a developer. */
export const serverEnvironment = { PATH: process.env["PATH"] };

/** The environment of programs that run from the sources: with the compile cache of the test run. */
export const programEnvironment = {
  ...serverEnvironment,
  ...(process.env["NODE_COMPILE_CACHE"] !== undefined && { NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] }),
};

interface SpawnOptions {
  /** A command that starts the program by `exec`. */
  readonly wrapper?: readonly string[];
  /** The destination of its output; unread by default. */
  readonly stdout?: "pipe" | number;
}

/** Starts the program with these settings, without waiting. */
export function spawnProgram(
  settings: Readonly<Record<string, string>>,
  { wrapper = [], stdout = "pipe" }: SpawnOptions = {},
) {
  const [program = "", ...args] = [...wrapper, process.execPath, rollcall, "serve"];
  const env = { ...serverEnvironment, PORT: "0", PASSWORD_HASH_MEMORY_KIB: "8", ...settings };
  const child = adopt(spawn(program, args, { cwd: noEnvFile, env, stdio: ["ignore", stdout, "inherit"] }));
  /** Resolves with its exit code and signal. */
  const exited = once(child, "exit");
  return { child, exited };
}

/** Collects the output of a program. */
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
 * @param wrapper a command that starts the program by `exec`
 */
export function startProgram(
  settings: Readonly<Record<string, string>>,
  wrapper: readonly string[] = [],
): Promise<RunningServer> {
  return untilListening(spawnProgram(settings, { wrapper }).child);
}

/** The child processes of a server, such as its workers, as Linux lists them. */
export function workersOf({ pid }: RunningServer): number[] {
  return childrenOf(pid);
}

/**
 * Runs a program until it exits, in this folder, with only these settings as its environment. The programs
 * `src/main.ts` and `src/cli/cli.ts` run from the bundle, as `rollcall` does.
 */
export async function runProgram(
  program: string,
  args: readonly string[],
  settings: Readonly<Record<string, string>>,
  folder = noEnvFile,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const bundled = new Map([
    ["src/main.ts", [rollcall, "serve"]],
    ["src/cli/cli.ts", [rollcall]],
  ]);
  const started = bundled.get(program) ?? [join(import.meta.dirname, "..", program)];
  const env = { ...(bundled.has(program) ? serverEnvironment : programEnvironment), ...settings };
  const child = spawn(process.execPath, [...started, ...args], {
    cwd: folder,
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  return { code, stdout, stderr: stderr.replaceAll(progressLines, "") };
}

/** Removes the progress reports of a command that takes longer than ten seconds, as on a busy machine. */
const progressLines = /^(?:rows|files|checked|restored|imported|exported|migrations): .*\n/gm;
