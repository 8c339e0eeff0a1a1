import { parseArgs } from "node:util";
import type { Config } from "../config/config.ts";
import { explainFailure } from "../config/failure.ts";
import { build } from "../config/version.ts";
import { rankSimilar } from "../lib/similar.ts";
import { OperatorNameError } from "../operators/operators.names.ts";
import { ApplicationSettingsError } from "../tenancy/application-settings.ts";
import { type Command, UsageError, type Values } from "./command.ts";
import { createJsonOutput, createTextOutput, type Output, type OutputStreams } from "./output.ts";

/** The usage of a command. */
interface CommandUsage {
  /** Starts with the name of the command. */
  readonly synopsis: string;
  readonly description: string;
}

const entries: readonly CommandUsage[] = Object.entries({
  serve: "serve until SIGTERM; print the log, and on the first start the credentials, to standard output",
  "serve --throwaway [--resume DIR]":
    "serve tests: on a free port, with data in a new temporary folder that it deletes afterwards; prints the credentials. --resume continues with the folder and the port of such a server that was killed",
  doctor: "check settings, connections, disk, clock, mail and TLS; exit code 1 if a check fails",
  health: "check that the server on this machine is ready; exit code 1 if it is not",
  migrate: "migrate the database schema to this release",
  distribute: "distribute the tables of a PostgreSQL with Citus that are not distributed yet",
  "accept [--new-secret] [--new-region] [--clock]":
    "confirm a change that the server refuses: another ROLLCALL_SECRET or REGION, which end all tokens; a clock that has jumped, on which maintenance waits",
  "backup FILE [--without-files] [--fast]":
    "back up the whole deployment to a new file; the server may run, and --fast does not give way to it",
  "verify-backup FILE": "check that a backup or an export is complete and intact",
  "restore FILE [--force] [--other-secret] [--keep-tokens]":
    "restore a backup into an empty deployment; --force deletes existing data first. All tokens end, because some may have been revoked since; --keep-tokens keeps them",
  "apps create --name N [--region R]":
    "create an application, with --region in another region; its key is shown only once",
  "apps list": "list the applications",
  "apps configure APPID FILE.json": "replace all settings of an application with those in the file",
  "apps rename APPID --name N": "rename an application",
  "apps suspend APPID": "refuse all calls of the application's clients",
  "apps resume APPID": "serve a suspended application again",
  "apps move APPID --region R [--force]":
    "move an application to another region; run it again to resume an interrupted move; --force skips files that are lost",
  "apps move APPID --cancel": "cancel an interrupted move",
  "apps locate APPID --region R": "record in the main region that another region has the application",
  "apps delete APPID --yes": "delete an application and all its data",
  "apps export APPID FILE [--fast]":
    "export an application with its files to a new file; the server may run, and --fast does not give way to it",
  "apps import FILE [--name N]": "import an exported application into this deployment",
  "apps revoke-tokens APPID --yes": "end all tokens of an application; its keys stay valid",
  "apps compromised APPID --yes": "end all tokens and keys; the new key is shown only once",
  "apps keys list APPID": "list the keys of an application, and how many devices use each",
  "apps keys create APPID [--label L]": "create another key, which is shown only once",
  "apps keys retire APPID KEYID [--yes]":
    "refuse further registrations with a key and end its tokens; --yes confirms it for the last key",
  "apps keys revoke-tokens APPID KEYID --yes": "end all tokens of a key; the key stays valid",
  "apps secret set APPID [FILE]":
    "set the shared secret for signed requests, generated or read from a file; it is shown only once",
  "apps secret delete APPID --yes": "delete the shared secret of an application",
  "regions key --region R": "print a REGION_SECRET for one region, to replace the shared secret there",
  "operators create --name N [--role R]": "create an operator, by default a viewer; the password is shown only once",
  "operators list": "list the operators",
  "operators role ID R": "set the role of an operator: viewer, editor or owner",
  "operators password ID": "set a new password, which is shown only once; ends the operator's sessions",
  "operators delete ID --yes": "delete an operator and end its sessions",
  "users disable APPID USERID": "refuse a user's sign-ins and existing tokens",
  "users enable APPID USERID": "allow a disabled user to sign in again",
  "users revoke APPID USERID": "end all tokens of a user",
  "users erase APPID USERID --yes": "delete a user and all the user's data",
  "users export APPID USERID FILE.zip": "export all stored data of a user to a file",
  "devices revoke APPID DEVICEID": "end all tokens of a device and of the users on it; it has to register again",
  "audit [--app APPID]": "list the audit log, newest first",
}).map(([synopsis, description]) => ({ synopsis, description }));

const synopsisWidth = 41;
const descriptionWidth = 80;

const head = "Usage: rollcall <command>\n\n";
const jsonHint = `Every command takes --json: then standard output is one JSON document, and a failure is
{"error":{"message":"…","exitCode":1}} on standard error. Exit codes: 0 on success, 1 for a failure, 2 for a usage error.
`;

const usage = `${head}${entries.map(formatEntry).join("")}
rollcall help [<command>] prints this text or the usage of a command; rollcall --version prints the release and the commit.
${jsonHint}Settings come from the environment and from the file .env: see .env.example.
`;

/** Lists the usage of one command or group, or of all commands. */
function describeUsage(command: string | undefined): readonly CommandUsage[] {
  return command === undefined ? entries : entries.filter(({ synopsis }) => `${synopsis} `.startsWith(`${command} `));
}

/** The usage text of one command. */
function usageOf(command: string): string {
  const own = describeUsage(command);
  return own.length === 0 ? usage : `${head}${own.map(formatEntry).join("")}`;
}

/** The accepted arguments of a command: a number of words, and options. */
interface AcceptedArguments {
  readonly wordsMax: number;
  readonly options: ReadonlySet<string>;
}

/** Derives the accepted arguments from the synopses of a command. */
function readSynopses(command: string): AcceptedArguments {
  const tails = describeUsage(command).map(({ synopsis }) => synopsis.slice(command.length).split(/[ [\]]+/));
  const isOption = (word: string) => word.startsWith("--");
  const counts = tails.map((words) => [...words.filter(Boolean), "--"].findIndex(isOption));
  const names = tails.flat().filter(isOption);
  return { wordsMax: Math.max(...counts), options: new Set(names.map((name) => name.slice("--".length))) };
}

/** Explains an unknown command by the commands of its group, or by commands with similar names. */
function explainUnknown(
  given: string,
  commands: readonly string[],
): { readonly message: string; readonly usage: string } {
  if (given === "") return { message: "a command is missing", usage };
  if (commands.some((each) => each.startsWith(`${given} `))) {
    return { message: `"${given}" is a group of commands: name one of them`, usage: usageOf(given) };
  }
  const near = rankSimilar(given, commands)
    .filter(({ word, distance }) => distance <= Math.max(2, Math.floor(word.length / 3)))
    .slice(0, 3)
    .map(({ word }) => word);
  const meant = near.length === 0 ? "" : ` Did you mean ${near.join(", or ")}?`;
  return {
    message: `there is no command "${given}".${meant}`,
    usage: "Usage: rollcall <command>; rollcall help lists all commands.\n",
  };
}

function formatEntry({ synopsis, description }: CommandUsage): string {
  const indent = " ".repeat(2 + synopsisWidth);
  const lines = wrap(description).join(`\n${indent}`);
  const isShort = synopsis.length < synopsisWidth;
  return isShort ? `  ${synopsis.padEnd(synopsisWidth)}${lines}\n` : `  ${synopsis}\n${indent}${lines}\n`;
}

function wrap(text: string): string[] {
  const lines = [""];
  for (const word of text.split(" ")) {
    const last = lines.at(-1) ?? "";
    if (last !== "" && last.length + 1 + word.length > descriptionWidth) lines.push(word);
    else lines[lines.length - 1] = last === "" ? word : `${last} ${word}`;
  }
  return lines;
}

type Commands<Name extends string = string> = Readonly<Record<Name, Command>>;

/** All commands by name. A command loads its module when it runs, which makes the start of the others faster. */
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

/** Creates lazily loaded commands; the compiler checks that the module has them. */
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
  /** Reads the settings; not called for a help text. */
  readConfig(values: Values): Config;
}

/**
 * Runs a `rollcall` command line, and prints its result or failure.
 *
 * @returns the exit code: 0 on success, 1 for a failure, 2 for a usage error
 */
export async function runCli(args: readonly string[], { readConfig, ...streams }: CliEnvironment): Promise<number> {
  // Checked before parsing, so that an unknown option is also reported as JSON.
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
    refuseUnexpected(commandName, given, values);
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

/** Refuses unexpected words and options instead of ignoring them. @throws UsageError */
function refuseUnexpected(command: string, words: readonly string[], values: Values): void {
  const accepted = readSynopses(command);
  const word = words[accepted.wordsMax];
  if (word !== undefined) throw new UsageError(`"${word}" is a word too many for ${command}`);
  const option = Object.keys(values).find((name) => name !== "json" && !accepted.options.has(name));
  if (option !== undefined) throw new UsageError(`${command} has no option --${option}`);
}

/** Finds the longest command name at the start of the words. */
function findCommand(words: readonly string[]): string | undefined {
  return [3, 2, 1].map((count) => words.slice(0, count).join(" ")).find((each) => Object.hasOwn(commands, each));
}

function printUnknown(words: readonly string[], output: Output): number {
  const given = words.slice(0, 3).join(" ");
  const { message, usage: text } = explainUnknown(given, Object.keys(commands));
  output.printFailure({ reason: message, exitCode: 2, usage: text });
  return 2;
}
