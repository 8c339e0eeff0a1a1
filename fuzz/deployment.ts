import { randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import path from "node:path";
import { fastFolder } from "../scripts/fast-folder.ts";
import { startThrowawayPostgres } from "../scripts/throwaway-postgres.ts";
import { killRunningServers, type RunningServer, startProgram } from "../server/test/running-server.ts";
import { runCli } from "../testkit/deployment.ts";
import { readCpuSeconds, residentBytes } from "../testkit/processes.ts";

export type Engine = "sqlite" | "postgres";

/** A server of its own with a throwaway database. */
export interface Deployment {
  readonly server: RunningServer;
  readonly dataDir: string;
  /** The password of an owner, created with the command that operators use. */
  readonly root: { readonly id: string; readonly name: string; readonly password: string };
  residentBytes(): number;
  /** Processor time of the server so far; NaN on systems without /proc. */
  processorMs(): number;
  close(): Promise<void>;
}

/**
 * @param rateLimits `off` for unlimited calls
 * @param database the settings of a running database
 */
export async function deploy(
  engine: Engine,
  rateLimits: "on" | "off",
  database?: Readonly<Record<string, string>>,
): Promise<Deployment> {
  const parent = fastFolder();
  const dataDir = mkdtempSync(path.join(parent, "rollcall-fuzz-"));
  const isOwn = engine === "postgres" && database === undefined;
  const postgres = isOwn ? await startThrowawayPostgres({ parent }) : undefined;
  const settings = {
    DATA_DIR: dataDir,
    RATE_LIMITS: rateLimits,
    RATE_LIMIT_CALLER_PER_SECOND: "10",
    LOG_LEVEL: "info",
    PASSWORD_HASH_PASSES: "1",
    PASSWORD_HASH_MEMORY_KIB: "8",
    REQUEST_TIMEOUT_MS: "3000",
    STREAM_LIFETIME_MS: "100",
    WEBHOOK_NETWORKS: "127.0.0.0/8",
    FILE_BYTES_MAX: "1000000",
    ...(postgres !== undefined && { DATABASE_URL: postgres.url, ROLLCALL_SECRET: randomBytes(32).toString("hex") }),
    ...database,
  };
  const clean = async () => {
    killRunningServers();
    await postgres?.stop();
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    const create = ["operators", "create", "--name", "root of the fuzz", "--role", "owner", "--json"] as const;
    const root = await runCli<Deployment["root"]>(settings, ...create);
    const server = await startProgram(settings);
    const processorMs = () => (existsSync(`/proc/${server.pid}`) ? readCpuSeconds(server.pid) * 1_000 : Number.NaN);
    return { server, dataDir, root, residentBytes: () => residentBytes(server), processorMs, close: clean };
  } catch (error) {
    await clean();
    throw error;
  }
}
