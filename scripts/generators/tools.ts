import { execFile } from "node:child_process";

/** A generator cannot run here, because a program or its package registry is missing. */
export class Unavailable extends Error {}

/** A folder to work in, and the documents to generate from. */
export interface Workplace {
  readonly folder: string;
  readonly documents: { readonly clients: string; readonly operators: string };
  /** A running server with an application, as environment variables of the clients. */
  readonly server: Readonly<Record<"ROLLCALL_URL" | "ROLLCALL_APPID" | "ROLLCALL_APPKEY", string>>;
}

export interface Generator {
  readonly name: string;
  /** The programs that it needs. */
  readonly programs: readonly string[];
  /** False when it must run everywhere. */
  readonly mayBeSkipped: boolean;
  /**
   * Generates from both documents, compiles, and calls the server as a client of an application where the language has
   * a client. @throws Error, Unavailable
   */
  run(workplace: Workplace): Promise<void>;
}

/** Runs a program, and returns everything that it printed. @throws Error with the end of the output */
export function execute(
  program: string,
  args: readonly string[],
  { folder, environment = {} }: { readonly folder: string; readonly environment?: Readonly<Record<string, string>> },
): Promise<string> {
  const options = { cwd: folder, env: { ...process.env, ...environment }, maxBuffer: outputBytesMax, timeout: msMax };
  return new Promise((resolve, reject) => {
    execFile(program, args, options, (error, stdout, stderr) => {
      const output = `${stdout}${stderr}`;
      if (error === null) resolve(output);
      else reject(new Error(`${program} ${args.join(" ")}\n${output.slice(-shownCharacters)}`, { cause: error }));
    });
  });
}

/** Runs a package client, which may have no registry. @throws Unavailable */
export async function fetchPackages(...[program, args, options]: Parameters<typeof execute>): Promise<void> {
  try {
    await execute(program, args, options);
  } catch (cause) {
    const { message } = cause as Error; // as `execute` throws
    throw new Unavailable(`its packages cannot be had: ${message.slice(-300)}`, { cause });
  }
}

const msMax = 900_000;
const outputBytesMax = 64 * 1_048_576;
const shownCharacters = 4_000;
