import { rankSimilar } from "../lib/similar.ts";

/** How to call a command and what it does. */
export interface CommandUsage {
  /** Begins with the command's name. */
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

export const usage = `${head}${entries.map(formatEntry).join("")}
rollcall help [<command>] prints this text or the usage of a command; rollcall --version prints the release and the commit.
${jsonHint}Settings come from the environment and from the file .env: see .env.example.
`;

/** The usage of one command or group, or of all commands. */
export function describeUsage(command: string | undefined): readonly CommandUsage[] {
  return command === undefined ? entries : entries.filter(({ synopsis }) => `${synopsis} `.startsWith(`${command} `));
}

/** The usage text of one command. */
export function usageOf(command: string): string {
  const own = describeUsage(command);
  return own.length === 0 ? usage : `${head}${own.map(formatEntry).join("")}`;
}

/** What a command takes after its name: so many words, then options. */
export interface Taken {
  readonly wordsMax: number;
  readonly options: ReadonlySet<string>;
}

/** What the synopses of a command say. */
export function takenBy(command: string): Taken {
  const tails = describeUsage(command).map(({ synopsis }) => synopsis.slice(command.length).split(/[ [\]]+/));
  const isOption = (word: string) => word.startsWith("--");
  const counts = tails.map((words) => [...words.filter(Boolean), "--"].findIndex(isOption));
  const names = tails.flat().filter(isOption);
  return { wordsMax: Math.max(...counts), options: new Set(names.map((name) => name.slice("--".length))) };
}

/** The message for an unknown command: lists the group that it names, or commands with similar names. */
export function explainUnknown(
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
