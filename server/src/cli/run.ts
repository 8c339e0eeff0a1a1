import { parseArgs } from "node:util";
import type { Config } from "../config/config.ts";
import { explainFailure } from "../config/failure.ts";
import { build } from "../config/version.ts";
import { OperatorNameError } from "../operators/operators.names.ts";
import { ApplicationSettingsError } from "../tenancy/application-settings.ts";
import { type Command, UsageError, type Values } from "./command.ts";
import { createJsonOutput, createTextOutput, type Output, type OutputStreams } from "./output.ts";
import { describeUsage, explainUnknown, takenBy, usage, usageOf } from "./usage.ts";

type Commands<Name extends string = string> = Readonly<Record<Name, Command>>;

/** All commands, by name. A command loads its module when it runs, so that it does not wait for those of the others. */
export const commands: Commands = {
  async serve(config, { json = false, throwaway = false, resume }) {
    const { start } = await import("../app/start.ts");
    await start(config, { isJson: json, isThrowaway: throwaway, isResumed: resume !== undefined });
    return undefined;
  },

  ...from(() => import("./doctor.ts"), ["doctor"]),
  ...from(() => import("./health.ts"), ["health"]),
  ...from(() => import("./migrate.ts"), ["migrate"]),
  ...from(() => import("./distribute.ts"), ["distribute"]),
  ...from(() => import("./accept.ts"), ["accept"]),

  ...from(() => import("./archives.ts"), ["backup", "verify-backup", "restore", "apps export", "apps import"]),

  ...from(
    () => import("./regions.ts"),
    ["apps create", "apps list", "apps delete", "apps move", "apps locate", "regions key"],
  ),

  ...from(
    () => import("./applications.ts"),
    [
      "apps configure",
      "apps rename",
      "apps suspend",
      "apps resume",
      "apps revoke-tokens",
      "apps compromised",
      "apps keys list",
      "apps keys create",
      "apps keys retire",
      "apps keys revoke-tokens",
      "apps secret set",
      "apps secret delete",
    ],
  ),

  ...from(
    () => import("./operators.ts"),
    ["operators create", "operators list", "operators role", "operators password", "operators delete", "audit"],
  ),

  ...from(() => import("./users.ts"), ["users disable", "users enable", "users revoke", "users erase", "users export"]),

  ...from(() => import("./devices.ts"), ["devices revoke"]),
};

/** Some of the commands of a module; the compiler checks that it has them. */
function from<Name extends string>(
  load: () => Promise<{ readonly commands: Commands<Name> }>,
  names: readonly Name[],
): Commands {
  const run =
    (name: Name): Command =>
    async (...given) =>
      (await load()).commands[name](...given);
  return Object.fromEntries(names.map((name) => [name, run(name)]));
}

const options = {
  name: { type: "string" },
  role: { type: "string" },
  app: { type: "string" },
  label: { type: "string" },
  region: { type: "string" },
  cancel: { type: "boolean" },
  json: { type: "boolean" },
  yes: { type: "boolean" },
  force: { type: "boolean" },
  "other-secret": { type: "boolean" },
  "keep-tokens": { type: "boolean" },
  "without-files": { type: "boolean" },
  fast: { type: "boolean" },
  throwaway: { type: "boolean" },
  resume: { type: "string" },
  "new-secret": { type: "boolean" },
  "new-region": { type: "boolean" },
  clock: { type: "boolean" },
  help: { type: "boolean", short: "h" },
  version: { type: "boolean" },
} as const;

/** The streams and settings of a command line. */
export interface CliEnvironment extends OutputStreams {
  /** Reads the settings; called only when a command runs, not for a help text. */
  readConfig(values: Values): Config;
}

/**
 * Runs one `rollcall` command line and prints its result or failure.
 *
 * @returns the exit code: 0 on success, 1 for a failure, 2 for a usage error
 */
export async function runCli(args: readonly string[], { readConfig, ...streams }: CliEnvironment): Promise<number> {
  // Checked before parsing, so that an unknown option is reported as JSON, too.
  const output = args.includes("--json") ? createJsonOutput(streams) : createTextOutput(streams);
  let config: Config | undefined;
  let commandName = findCommand(args.filter((word) => !word.startsWith("-")));
  try {
    const { values, positionals } = parseArgs({ args: [...args], allowPositionals: true, options });
    const isHelp = values.help === true || positionals[0] === "help";
    const words = positionals.slice(positionals[0] === "help" ? 1 : 0);
    commandName = findCommand(words);
    if (values.version || words[0] === "version") {
      output.printResult({ json: { version: build }, text: build });
      return 0;
    }
    if (isHelp && (commandName !== undefined || words.length === 0)) {
      const text = commandName === undefined ? usage : usageOf(commandName);
      output.printResult({ json: { commands: describeUsage(commandName) }, text: text.trimEnd() });
      return 0;
    }
    const command = commandName === undefined ? undefined : commands[commandName];
    if (commandName === undefined || command === undefined) return printUnknown(words, output);
    const given = words.slice(commandName.split(" ").length);
    refuseSurplus(commandName, given, values);
    if (values.resume !== undefined && !values.throwaway) throw new UsageError("--resume needs --throwaway");
    config = readConfig(values);
    const result = await command(config, values, given, output);
    if (result !== undefined) output.printResult(result);
    return result?.failure === undefined ? 0 : 1;
  } catch (error) {
    // parseArgs throws a TypeError for an unknown option.
    const isMisuse =
      error instanceof UsageError ||
      error instanceof OperatorNameError ||
      (error instanceof TypeError && "code" in error);
    if (isMisuse) {
      const text = commandName === undefined ? usage : usageOf(commandName);
      output.printFailure({ reason: error.message, exitCode: 2, usage: text });
      return 2;
    }
    const isWrongFile = error instanceof ApplicationSettingsError;
    const exitCode = isWrongFile ? 2 : 1;
    output.printFailure({ reason: isWrongFile ? error.message : explainFailure(error, config), exitCode });
    return exitCode;
  }
}

/** A word or an option that a command does not take may be the one that matters. @throws UsageError */
function refuseSurplus(command: string, words: readonly string[], values: Values): void {
  const taken = takenBy(command);
  const word = words[taken.wordsMax];
  if (word !== undefined) throw new UsageError(`"${word}" is a word too many for ${command}`);
  const option = Object.keys(values).find((name) => name !== "json" && !taken.options.has(name));
  if (option !== undefined) throw new UsageError(`${command} has no option --${option}`);
}

/** The longest sequence of leading words that is a command. */
function findCommand(words: readonly string[]): string | undefined {
  return [3, 2, 1].map((count) => words.slice(0, count).join(" ")).find((each) => Object.hasOwn(commands, each));
}

function printUnknown(words: readonly string[], output: Output): number {
  const given = words.slice(0, 3).join(" ");
  const { message, usage: text } = explainUnknown(given, Object.keys(commands));
  output.printFailure({ reason: message, exitCode: 2, usage: text });
  return 2;
}
