import { randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { readThrowawayRecord } from "../app/throwaway.ts";
import { type Config, loadConfig } from "../config/config.ts";
import { UsageError, type Values } from "./command.ts";

const loopback = "127.0.0.1";

/**
 * The settings of `serve --throwaway`: those of the environment, but not of `.env`, with a new folder, a free port and
 * the cheapest password hashes. With `--resume`, the folder and the port of a server that was killed.
 *
 * @throws UsageError for a setting that would lead to data that must be kept
 * @throws ConfigError
 */
export function throwawayConfig(environment: Readonly<Record<string, string | undefined>>, { resume }: Values): Config {
  const kept = ["DATA_DIR", "DATABASE_URL", "FILES_URL", "REGIONS"].find((name) => environment[name]?.trim());
  if (kept !== undefined) throw new UsageError(`${kept} is set, and --throwaway keeps no data: unset it`);
  const host = environment["HOST"]?.trim() || loopback;
  if (host !== loopback) throw new UsageError(`HOST is ${host}, and --throwaway listens at ${loopback} only: unset it`);
  return loadConfig({
    ...environment,
    ...(resume === undefined
      ? { DATA_DIR: join(tmpdir(), `rollcall-throwaway-${randomUUID()}`), PORT: "0" }
      : { DATA_DIR: resolve(resume), PORT: portOf(resolve(resume)) }),
    HOST: loopback,
    WORKERS: "1",
    PASSWORD_HASH_MEMORY_KIB: "8",
    PASSWORD_HASH_PASSES: "1",
  });
}

function portOf(folder: string): string {
  try {
    return new URL(readThrowawayRecord(folder).url).port;
  } catch {
    throw new UsageError(`${folder} is not the folder of a throwaway server that was killed`);
  }
}
