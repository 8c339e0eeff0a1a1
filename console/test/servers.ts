import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { noEnvFile, rollcall, serverEnvironment, startProgram } from "../../server/test/running-server.ts";

/** The parts of a server that the checks need. */
export interface TestServer {
  readonly url: string;
  /** An owner. */
  readonly operator: { readonly name: string; readonly password: string };
  /** The folder of its database, of a server on SQLite. */
  readonly dataDir?: string;
  stop(): Promise<void>;
}

/** Webhooks of the checks send only to this machine. */
export const ownMachine = { WEBHOOK_NETWORKS: "127.0.0.1/32" };

/** Starts a server with an empty database of this PostgreSQL. */
export async function startOnPostgres(databaseUrl: string): Promise<TestServer> {
  const folder = mkdtempSync(path.join(tmpdir(), "rollcall-console-"));
  const secret = "console-tests-console-tests-console";
  const settings = { DATABASE_URL: databaseUrl, DATA_DIR: folder, ROLLCALL_SECRET: secret, ...ownMachine };
  const create = [rollcall, "operators", "create", "--name", "owner", "--role", "owner", "--json"];
  const options = { cwd: noEnvFile, env: { ...serverEnvironment, ...settings }, encoding: "utf8" } as const;
  const { name, password } = JSON.parse(execFileSync(process.execPath, create, options));
  const { port, end } = await startProgram({ ...settings, HOST: "127.0.0.1" });
  return {
    url: `http://127.0.0.1:${port}`,
    operator: { name, password },
    async stop() {
      await end("SIGTERM");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
