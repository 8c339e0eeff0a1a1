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
export function startOnPostgres(databaseUrl: string): Promise<TestServer> {
  return startServer({ DATABASE_URL: databaseUrl });
}

/** A server on SQLite as region "main" of two; the other, "eu", does not run. */
export function startMainRegion(): Promise<TestServer> {
  const regions = { REGIONS: `main=http://127.0.0.1:9,eu=${otherRegion}`, REGION_SECRET: "a secret between regions" };
  return startServer({ PASSWORD_HASH_MEMORY_KIB: "8", ...regions });
}

export const otherRegion = "https://eu.example.org";

async function startServer(given: Readonly<Record<string, string>>): Promise<TestServer> {
  const folder = mkdtempSync(path.join(tmpdir(), "rollcall-console-"));
  const secret = "console-tests-console-tests-console";
  const settings = { DATA_DIR: folder, ROLLCALL_SECRET: secret, ...ownMachine, ...given };
  const create = [rollcall, "operators", "create", "--name", "owner", "--role", "owner", "--json"];
  const options = { cwd: noEnvFile, env: { ...serverEnvironment, ...settings }, encoding: "utf8" } as const;
  const { name, password } = JSON.parse(execFileSync(process.execPath, create, options));
  const { port, end } = await startProgram({ ...settings, HOST: "127.0.0.1" });
  return {
    url: `http://127.0.0.1:${port}`,
    operator: { name, password },
    ...(given["DATABASE_URL"] === undefined && { dataDir: folder }),
    async stop() {
      await end("SIGTERM");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
