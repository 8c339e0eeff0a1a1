import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { adopt } from "./children.ts";
import { plainEnvironment } from "./processes.ts";

/** A process of `rollcall serve` on a free port. */
export interface RunningServer {
  readonly port: number;
  readonly pid: number;
  /** Its log. */
  output(): string;
  /** Resolves with its exit code when it has exited for any reason. */
  readonly ended: Promise<number | null>;
  /** Sends the signal and waits for the exit. @returns the exit code; null when it had to be killed */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

/** A server that is loaded and not started yet. */
export interface Standby {
  /** Resolves when it listens. */
  begin(): Promise<RunningServer>;
}

type Settings = Readonly<Record<string, string>>;

/** The program `rollcall` of this checkout, which runs a bundle of the sources. */
export const rollcall = fileURLToPath(import.meta.resolve("../server/bin/rollcall.mjs"));
const mainScript = fileURLToPath(import.meta.resolve("../server/src/main.ts"));
const standbyScript = import.meta.resolve("./standby.mjs");
/** Longer than the grace period of a server that shuts down. */
const patienceMs = 60_000;
const outputMax = 2_000_000;

/** @param preloads scripts that run before it, `wrapper` a command that starts it by `exec` */
export async function startServer(
  settings: Settings,
  { preloads = [], wrapper = [] }: { readonly preloads?: readonly string[]; readonly wrapper?: readonly string[] } = {},
): Promise<RunningServer> {
  const imports = preloads.flatMap((script) => ["--import", script]);
  return untilListening(spawnServer(settings, [...wrapper, process.execPath, ...imports, rollcall, "serve"]), {
    outputMax,
  });
}

/** Loads the sources of a server in advance. It does nothing until `begin` is called. */
export function prepareServer(settings: Settings): Standby {
  const child = spawnServer(settings, [process.execPath, "--import", standbyScript, mainScript]);
  const listening = untilListening(child, { outputMax, startMsMax: Number.POSITIVE_INFINITY });
  listening.catch(() => {}); // the caller of begin gets the error
  return {
    begin() {
      child.stdin.write("\n");
      return listening;
    },
  };
}

function spawnServer(settings: Settings, [program = "", ...args]: readonly string[]) {
  const env = { ...plainEnvironment(), PORT: "0", ...settings };
  return adopt(spawn(program, args, { cwd: import.meta.dirname, env, stdio: ["pipe", "pipe", "inherit"] }));
}

/** Waits until the program listens. @throws when it exits before, or takes longer than `startMsMax` */
export async function untilListening(
  child: ChildProcess,
  { outputMax = Number.POSITIVE_INFINITY, startMsMax = patienceMs } = {},
): Promise<RunningServer> {
  const ended = once(child, "exit").then(([code]: (number | null)[]) => code ?? null);
  let output = "";
  child.stdin?.on("error", () => {}); // the process has exited
  const port = await new Promise<number>((resolve, reject) => {
    let isListening = false;
    const late = () => {
      child.kill("SIGKILL");
      reject(new Error(`the server did not listen within ${startMsMax} ms: ${output}`));
    };
    const timer = Number.isFinite(startMsMax) ? setTimeout(late, startMsMax) : undefined;
    void ended.finally(() => clearTimeout(timer)).catch(() => {});
    ended.then((code) => reject(new Error(`the server exited with ${code} before it listened: ${output}`)), reject);
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      if (output.length > outputMax) output = output.slice(-outputMax);
      if (isListening) return;
      const listening = /"url":"https?:\/\/127\.0\.0\.1:(\d+)"/.exec(output)?.[1];
      isListening = listening !== undefined;
      if (!isListening) return;
      clearTimeout(timer);
      resolve(Number(listening));
    });
  });
  return {
    port,
    pid: child.pid ?? 0, // a started process has one
    output: () => output,
    ended,
    async end(signal) {
      child.kill(signal);
      const impatience = setTimeout(() => child.kill("SIGKILL"), patienceMs);
      const code = await ended;
      clearTimeout(impatience);
      return code;
    },
  };
}
