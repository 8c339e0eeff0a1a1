import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { readCpuSeconds, readMemory } from "../bench/server-process.ts";
import { fastFolder } from "../scripts/fast-folder.ts";
import { startThrowawayPostgres } from "../scripts/throwaway-postgres.ts";
import {
  killRunningServers,
  type RunningServer,
  rollcall,
  serverEnvironment,
  startProgram,
} from "../server/test/running-server.ts";

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
    const root = await createOwner(settings);
    const server = await startProgram(settings);
    const residentBytes = () => readMemory(server.pid, "VmRSS") ?? Number.NaN;
    const processorMs = () => (existsSync(`/proc/${server.pid}`) ? readCpuSeconds(server.pid) * 1_000 : Number.NaN);
    return { server, dataDir, root, residentBytes, processorMs, close: clean };
  } catch (error) {
    await clean();
    throw error;
  }
}

async function createOwner(settings: Readonly<Record<string, string>>): Promise<Deployment["root"]> {
  const args = [rollcall, "operators", "create", "--name", "root of the fuzz", "--role", "owner", "--json"];
  const env = { ...serverEnvironment, ...settings };
  return JSON.parse((await promisify(execFile)(process.execPath, args, { cwd: import.meta.dirname, env })).stdout);
}
