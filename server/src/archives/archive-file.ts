import { createReadStream, existsSync, unlinkSync } from "node:fs";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { PlainFailure } from "../config/failure.ts";
import { pathProblems } from "../config/start-failures.ts";
import { fieldsOf } from "../lib/fields.ts";
import { syncFolder } from "../lib/folders.ts";

const bytesPerWrite = 262_144;
/** The maximum number of unsynced bytes, so that the fsync of a database write never waits for more. */
const bytesPerSync = 2_097_152;

/**
 * Writes an archive to a new file that only this account can read. The file is `FILE.partial` until it is complete.
 *
 * @throws PlainFailure if the file exists
 */
export async function writeArchiveFile<Result>(
  path: string,
  archive: AsyncGenerator<Uint8Array, Result>,
): Promise<Result> {
  if (existsSync(path)) throw new PlainFailure(`${path} already exists, and archives are never overwritten.`);
  const partial = `${path}.partial`;
  const file = await open(partial, "wx", 0o600).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
    throw new PlainFailure(
      `${partial} exists: another process is writing it, or was interrupted. In the latter case delete the file.`,
    );
  });
  const interrupt = (signal: NodeJS.Signals) => {
    unlinkSync(partial);
    process.exit(signal === "SIGINT" ? 130 : 143);
  };
  const signals = ["SIGINT", "SIGTERM"] as const;
  for (const signal of signals) process.once(signal, interrupt);
  try {
    const result = await writeAll(file, partial, archive);
    await nameFile(partial, file.sync());
    await file.close();
    if (existsSync(path)) throw new PlainFailure(`${path} was created meanwhile, and archives are never overwritten.`);
    await rename(partial, path);
    await syncFolder(dirname(path));
    return result;
  } catch (error) {
    // Closes the sources of the archive; otherwise the process would not exit.
    await archive.return(undefined as never).catch(() => {}); // the return value is not used
    await file.close().catch(() => {});
    await rm(partial, { force: true });
    throw error;
  } finally {
    for (const signal of signals) process.off(signal, interrupt);
  }
}

/** Opens an archive file for `loadArchive` and `restore`. */
export function readArchiveFile(path: string): AsyncIterable<Uint8Array> {
  return createReadStream(path, { highWaterMark: bytesPerWrite });
}

async function writeAll<Result>(
  file: FileHandle,
  path: string,
  archive: AsyncGenerator<Uint8Array, Result>,
): Promise<Result> {
  const named = <T>(written: Promise<T>) => nameFile(path, written);
  let pieces: Uint8Array[] = [];
  let gathered = 0;
  let unsynced = 0;
  async function write(): Promise<void> {
    const all = Buffer.concat(pieces);
    for (let done = 0; done < all.length; ) done += (await named(file.write(all, done))).bytesWritten;
    unsynced += all.length;
    pieces = [];
    gathered = 0;
  }
  for (;;) {
    const next = await archive.next();
    if (next.done === true) {
      await write();
      return next.value;
    }
    pieces.push(next.value);
    gathered += next.value.length;
    if (gathered >= bytesPerWrite) await write();
    if (unsynced >= bytesPerSync) {
      await named(file.datasync());
      unsynced = 0;
    }
  }
}

/** Adds the path to a system error, which lacks it for an open file. @throws PlainFailure */
async function nameFile<T>(path: string, written: Promise<T>): Promise<T> {
  try {
    return await written;
  } catch (error) {
    const { code } = fieldsOf(error);
    if (typeof code !== "string") throw error;
    throw new PlainFailure(`${path}: ${pathProblems[code] ?? "it cannot be written"} (${code}).`);
  }
}
