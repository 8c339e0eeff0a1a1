import { runCli } from "../src/cli/run.ts";
import { loadConfig } from "../src/config/config.ts";

/**
 * Runs `rollcall` with its output treated as a terminal, in a separate process, because archives lower its priority.
 */
const asTerminal = (stream: NodeJS.WriteStream) => ({
  isTTY: true,
  columns: 120,
  write: (text: string) => stream.write(text),
});
process.exitCode = await runCli(process.argv.slice(2), {
  stdout: { write: (text: string) => process.stdout.write(text) },
  stderr: asTerminal(process.stderr),
  readConfig: () => loadConfig(process.env),
});
