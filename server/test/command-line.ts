import { runCli } from "../src/cli/run.ts";
import { loadConfig } from "../src/config/config.ts";
import { runProgram } from "./running-server.ts";

/** Commands that lower the priority of their process, which must not be the test's. */
const ownProcess = ["backup", "apps export", "apps import"];

export interface CommandRun {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a `rollcall` command with only these settings, in the process of the test if possible. */
export async function runCommand(
  args: readonly string[],
  settings: Readonly<Record<string, string>>,
  { isTTY = false } = {},
): Promise<CommandRun> {
  if (ownProcess.some((command) => args.join(" ").startsWith(command))) {
    return runProgram("src/cli/cli.ts", args, settings);
  }
  const written = { stdout: "", stderr: "" };
  const streamOf = (name: keyof typeof written) => ({
    isTTY,
    write(text: string) {
      written[name] += text;
    },
  });
  const streams = { stdout: streamOf("stdout"), stderr: streamOf("stderr") };
  const code = await runCli(args, { ...streams, readConfig: () => loadConfig(settings) });
  return { code, ...written };
}
