import { createReadStream, existsSync, unlinkSync } from "node:fs";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { PlainFailure } from "../failure.ts";
import { syncFolder } from "../lib/sync-folder.ts";

const writtenAtOnce = 262_144;
/** So much is put on the disk at a time: a write of the database waits for no more than this. */
const syncedAtOnce = 2_097_152;

/**
 * Writes an archive to a file that is not there yet, for this account's eyes only. Under its name there is a whole one or none;
 * until then it lies beside it, as `FILE.partial`.
 *
 * @throws PlainFailure when there is such a file
 */
export async function writeArchiveFile<Result>(
  path: string,
  archive: AsyncGenerator<Uint8Array, Result>,
): Promise<Result> {
  if (existsSync(path)) throw new PlainFailure(`There is a file ${path} already: archives are never written over.`);
  const partial = `${path}.partial`;
  const file = await open(partial, "wx", 0o600).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
    throw new PlainFailure(`${partial} is being written, or was left by one that was interrupted: then delete it.`);
  });
  const interrupt = (signal: NodeJS.Signals) => {
    unlinkSync(partial);
    process.exit(signal === "SIGINT" ? 130 : 143);
  };
  const signals = ["SIGINT", "SIGTERM"] as const;
  for (const signal of signals) process.once(signal, interrupt);
  try {
    const result = await writeAll(file, archive);
    await file.sync();
    await file.close();
    if (existsSync(path)) throw new PlainFailure(`There is a file ${path} by now: archives are never written over.`);
    await rename(partial, path);
    await syncFolder(dirname(path));
    return result;
  } catch (error) {
    // What it reads from would stay open, and the process with it.
    await archive.return(undefined as never).catch(() => {}); // nobody takes what it returns
    await file.close().catch(() => {});
    await rm(partial, { force: true });
    throw error;
  } finally {
    for (const signal of signals) process.off(signal, interrupt);
  }
}

/** A file as it is read by who loads an archive. */
export function readArchiveFile(path: string): AsyncIterable<Uint8Array> {
  return createReadStream(path, { highWaterMark: writtenAtOnce });
}

async function writeAll<Result>(file: FileHandle, archive: AsyncGenerator<Uint8Array, Result>): Promise<Result> {
  let pieces: Uint8Array[] = [];
  let gathered = 0;
  let unsynced = 0;
  async function write(): Promise<void> {
    const all = Buffer.concat(pieces);
    for (let done = 0; done < all.length; ) done += (await file.write(all, done)).bytesWritten;
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
    if (gathered >= writtenAtOnce) await write();
    if (unsynced >= syncedAtOnce) {
      await file.datasync();
      unsynced = 0;
    }
  }
}
