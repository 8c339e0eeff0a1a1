import { randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { readThrowawayRecord } from "../app/throwaway.ts";
import { type Config, loadConfig } from "../config/config.ts";
import { UsageError, type Values } from "./command.ts";

const loopback = "127.0.0.1";

/**
 * The settings of `serve --throwaway`: the environment without `.env`, a new folder, a free port and the cheapest password
 * hashes. With `--resume`, the folder and the port of a killed server.
 *
 * @throws UsageError for a setting that refers to permanent data
 * @throws ConfigError
 */
export function throwawayConfig(environment: Readonly<Record<string, string | undefined>>, { resume }: Values): Config {
  const permanent = ["DATA_DIR", "DATABASE_URL", "FILES_URL", "REGIONS"].find((name) => environment[name]?.trim());
  if (permanent !== undefined) throw new UsageError(`${permanent} is set, and --throwaway keeps no data: unset it`);
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
