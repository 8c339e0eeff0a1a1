import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { newFolder } from "./children.ts";
import { plainEnvironment } from "./processes.ts";
import { rollcall } from "./server.ts";

/** The settings to start a server with, and the credentials to call it with. */
export interface Deployment {
  readonly settings: Readonly<Record<string, string>>;
  readonly application: { readonly appid: string; readonly appkey: string };
  readonly operator: { readonly name: string; readonly password: string };
}

/** Cheap password hashes and no rate limits, because its scenarios test neither. */
const fastSettings = {
  PASSWORD_HASH_MEMORY_KIB: "8",
  PASSWORD_HASH_PASSES: "1",
  RATE_LIMITS: "off",
  LOG_LEVEL: "info",
  ROLLCALL_SECRET: "a secret for tests",
};

/**
 * Creates a deployment in an empty folder, with a database, an application and an operator.
 *
 * @param settings the database settings, if the database is outside of that folder
 */
export async function createDeployment(settings: Readonly<Record<string, string>> = {}): Promise<Deployment> {
  const all = { ...fastSettings, DATA_DIR: newFolder("data"), ...settings };
  const operator: Deployment["operator"] = await runCli(all, "operators", "create", "--name", "tester", "--json");
  const application: Deployment["application"] = await runCli(all, "apps", "create", "--name", "Test", "--json");
  return { settings: all, application, operator };
}

/** Runs a command of `rollcall` that prints JSON. */
export function runCli<T>(settings: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<T> {
  return runCliOf(rollcall, settings, ...args);
}

/** The same of another checkout. @param program its `rollcall` */
export async function runCliOf<T>(
  program: string,
  settings: Readonly<Record<string, string>>,
  ...args: readonly string[]
): Promise<T> {
  const options = { cwd: import.meta.dirname, env: { ...plainEnvironment(), ...settings } }; // a folder without .env
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...args], options);
  return JSON.parse(stdout);
}
