import { createHash, randomUUID } from "node:crypto";
import { link, mkdir, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import path from "node:path";
import type { Store } from "../../identity/store.ts";

/** A file that a killed process left half written is deleted when it is older. */
const leftoverMs = 3_600_000;

/**
 * A store in a folder, which several processes may share. The folder has mode 0700 and holds one file of mode 0600 for
 * each key, named by the SHA-256 of the key.
 */
export function fileStore(folder: string): Store {
  let preparing: Promise<void> | undefined;
  const fileOf = (key: string) => path.join(folder, createHash("sha256").update(key).digest("hex"));

  function prepare(): Promise<void> {
    preparing ??= prepareFolder(folder).catch((error) => {
      preparing = undefined;
      throw error;
    });
    return preparing;
  }

  /** Writes a temporary file, and renames it in one step. */
  async function write(key: string, value: string, place: (from: string, to: string) => Promise<void>): Promise<void> {
    await prepare();
    const temporary = path.join(folder, `${randomUUID()}.tmp`);
    try {
      const file = await open(temporary, "wx", 0o600);
      try {
        await file.writeFile(JSON.stringify([key, value]));
        await file.sync();
      } finally {
        await file.close();
      }
      await place(temporary, fileOf(key));
      await syncFolder(folder);
    } finally {
      await rm(temporary, { force: true });
    }
  }

  async function get(key: string): Promise<string | undefined> {
    const [, value] = (await readRecord(fileOf(key))) ?? [];
    return value;
  }

  const store: Store = {
    durability: "disk",
    get,
    set: (key, value) => write(key, value, rename),
    async delete(key) {
      await rm(fileOf(key), { force: true });
      if (preparing !== undefined) await syncFolder(folder);
    },
    async list(prefix) {
      await prepare();
      const names = (await readdir(folder)).filter((name) => !name.endsWith(".tmp"));
      const records = await Promise.all(names.map((name) => readRecord(path.join(folder, name))));
      const keys = records.flatMap((record) => (record === undefined ? [] : [record[0]]));
      return keys.filter((key) => key.startsWith(prefix)).sort();
    },
    async putIfAbsent(key, value) {
      // An existing file that holds no record is replaced.
      for (;;) {
        try {
          await write(key, value, link);
          return value;
        } catch (error) {
          if (!hasCode(error, "EEXIST")) throw error;
        }
        const present = await get(key);
        if (present !== undefined) return present;
        await rm(fileOf(key), { force: true });
      }
    },
  };
  return store;
}

/** Creates the folder, and deletes what killed processes have left in it. */
async function prepareFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const name of await readdir(folder)) {
    if (!name.endsWith(".tmp")) continue;
    const file = path.join(folder, name);
    const found = await stat(file).catch(() => undefined);
    if (found !== undefined && Date.now() - found.mtimeMs > leftoverMs) await rm(file, { force: true });
  }
}

/** Reads the key and the value from a file; undefined if the file is missing or not a record. */
async function readRecord(file: string): Promise<[key: string, value: string] | undefined> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if (hasCode(error, "ENOENT") || hasCode(error, "EISDIR")) return undefined;
    throw error;
  }
  try {
    const record: unknown = JSON.parse(text);
    if (!Array.isArray(record)) return undefined;
    const [key, value]: unknown[] = record;
    return typeof key === "string" && typeof value === "string" ? [key, value] : undefined;
  } catch {
    return undefined;
  }
}

/** Makes the names in a folder durable. Windows cannot open folders, and needs no such call. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
