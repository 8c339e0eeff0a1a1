import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { newFolder } from "../bench/children.ts";
import { plainEnvironment } from "../bench/server-process.ts";

/** The settings to start a server with, and the credentials to call it with. */
export interface Deployment {
  readonly settings: Readonly<Record<string, string>>;
  readonly application: { readonly appid: string; readonly appkey: string };
  readonly operator: { readonly name: string; readonly password: string };
}

const rollcall = fileURLToPath(import.meta.resolve("../server/bin/rollcall.mjs"));

/** Cheap password hashes and no rate limits, because these scenarios test neither. */
const fastSettings = {
  PASSWORD_HASH_MEMORY_KIB: "8",
  PASSWORD_HASH_PASSES: "1",
  RATE_LIMITS: "off",
  LOG_LEVEL: "info",
  ROLLCALL_SECRET: "a secret for the fault tests",
};

/**
 * Creates a deployment in an empty folder, with a database, an application and an operator.
 *
 * @param settings the database settings, if the database is outside of that folder
 */
export async function createDeployment(settings: Readonly<Record<string, string>> = {}): Promise<Deployment> {
  const all = { ...fastSettings, DATA_DIR: newFolder("data"), ...settings };
  const operator: Deployment["operator"] = await runCli(all, "operators", "create", "--name", "faults", "--json");
  const application: Deployment["application"] = await runCli(all, "apps", "create", "--name", "Faults", "--json");
  return { settings: all, application, operator };
}

export async function runCli<T>(settings: Readonly<Record<string, string>>, ...args: string[]): Promise<T> {
  const env = { ...plainEnvironment(), ...settings };
  const { stdout } = await promisify(execFile)(process.execPath, [rollcall, ...args], { env });
  return JSON.parse(stdout);
}
