import { open, unlink } from "node:fs/promises";
import { dirname, join, sep } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Config } from "../config/config.ts";
import type { Log } from "../config/log.ts";
import { pathProblems } from "../config/start-failures.ts";
import type { ByteStore } from "./byte-store.ts";
import { findStoreProblem } from "./store-problem.ts";

/** The reason why a part of the storage is unusable. */
export interface StorageProblem {
  /** `files`: the store of FILES_URL does not work. `disk`: a folder does not accept writes, while reads still work. */
  readonly kind: "files" | "disk";
  /** For the log: names the setting, the target and the cause. */
  readonly text: string;
  /** For any client: names the setting and the cause. Set only if the store refuses every request. */
  readonly refusal?: string;
}

/** Checks the storage on demand of probes and scrapes, at most every five seconds per process. */
export interface StorageHealth {
  /** Resolves within a second with the result of the last check. */
  findProblems(): Promise<readonly StorageProblem[]>;
  /** The result of the last check; starts the next one when it is due. */
  latestProblems(): readonly StorageProblem[];
  /** Waits for a running check, for at most a second. */
  close(): Promise<void>;
}

export type WrittenFolders = Pick<Config, "dataDir" | "databaseUrl" | "filesUrl">;

const freshMs = 5_000;
const waitMs = 1_000;
/** The check of a bucket has a shorter time-out. */
const stuckMs = 10_000;
/** More than a file system can store in a partly used block. */
const probeBytes = 65_536;

export function createStorageHealth(
  config: WrittenFolders,
  { bytes, log }: { readonly bytes: Pick<ByteStore, "check">; readonly log: Log },
): StorageHealth {
  let problems: readonly StorageProblem[] = [];
  let nextAt = 0;
  let running: Promise<void> | undefined;
  let startedAt = 0;

  async function check(): Promise<void> {
    const found = await findStorageProblems(config, bytes);
    const has = (list: readonly StorageProblem[], text: string) => list.some((each) => each.text === text);
    for (const { text } of found) if (!has(problems, text)) log.warn({ problem: text }, "storage: a problem was found");
    for (const { text } of problems) if (!has(found, text)) log.info({ problem: text }, "storage: a problem is over");
    problems = found;
  }

  function begin(): void {
    // Never two concurrent checks: a hanging file system would occupy every thread that reads files.
    if (running !== undefined || performance.now() < nextAt) return;
    startedAt = performance.now();
    running = check().finally(() => {
      running = undefined;
      nextAt = performance.now() + freshMs;
    });
  }

  function latest(): readonly StorageProblem[] {
    if (running === undefined || performance.now() - startedAt < stuckMs) return problems;
    return [{ kind: "files", text: "FILES_URL, DATA_DIR: a check of the storage does not end." }];
  }

  async function settle(): Promise<void> {
    if (running !== undefined) await Promise.race([running, sleep(waitMs, undefined, { ref: false })]);
  }

  return {
    async findProblems() {
      begin();
      await settle();
      return latest();
    },
    latestProblems() {
      begin();
      return latest();
    },
    close: settle,
  };
}

async function findStorageProblems(config: WrittenFolders, bytes: Pick<ByteStore, "check">): Promise<StorageProblem[]> {
  const ofStore = await findStoreProblem(config, bytes);
  const found: StorageProblem[] = [];
  if (ofStore !== undefined) {
    const { text, refusal } = ofStore;
    found.push({ kind: "files", text, ...(refusal !== undefined && { refusal }) });
  }
  for (const [setting, folder] of writtenFolders(config)) {
    const code = await tryToWrite(folder);
    if (code === undefined) continue;
    const text = `${setting}: cannot write to ${folder}: ${pathProblems[code] ?? "it cannot be used"} (${code}).`;
    found.push({ kind: "disk", text });
  }
  return found;
}

/** The folders that the server writes uploads and data to, each with its setting. */
export function writtenFolders({
  dataDir,
  databaseUrl,
  filesUrl,
}: WrittenFolders): [setting: string, folder: string][] {
  const settingOf = (folder: string, own: string) => (`${folder}${sep}`.startsWith(dataDir + sep) ? "DATA_DIR" : own);
  const folders: [string, string][] = [];
  if (databaseUrl.startsWith("file:")) {
    const folder = dirname(fileURLToPath(databaseUrl));
    folders.push([settingOf(folder, "DATABASE_URL"), folder]);
  }
  if (filesUrl.startsWith("file:")) {
    const folder = fileURLToPath(filesUrl);
    folders.push([settingOf(folder, "FILES_URL"), join(folder, ".incoming")]); // cleanUp deletes its remains
  }
  return folders;
}

/**
 * Writes some bytes, because free space does not reveal quotas, limits and read-only file systems.
 *
 * @returns the error code, or undefined on success
 */
async function tryToWrite(folder: string): Promise<string | undefined> {
  const path = join(folder, ".write-check"); // shared by all processes, so that killed ones abandon at most one file
  try {
    const file = await open(path, "w", 0o600);
    try {
      const content = Buffer.alloc(probeBytes, 1);
      for (let done = 0; done < content.length; ) done += (await file.write(content, done)).bytesWritten;
      await file.datasync();
    } finally {
      await file.close();
    }
    return undefined;
  } catch (error) {
    return String(Object(error).code ?? error);
  } finally {
    await unlink(path).catch(() => {}); // another process may have deleted it
  }
}
