import { randomUUID } from "node:crypto";
import { type Dir, existsSync } from "node:fs";
import { type FileHandle, lstat, mkdir, open, opendir, rename, rmdir, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { ApiError } from "../lib/errors.ts";
import { makeFolder, syncFolder } from "../lib/folders.ts";
import { abortable } from "./abortable.ts";
import { type ByteStore, BytesMissing, checkKey, checkPrefix } from "./byte-store.ts";

/** The chunk size; a slow reader holds two chunks in memory. */
const pieceBytes = 65_536;

/** For fast readers: halves the processor time per byte, with fewer ticks and less garbage. */
const largePieceBytes = 524_288;

/** At most this many readers get large chunks, so that a thousand stalled readers do not hold a gigabyte. */
const largeReadersMax = 32;

/** Far below the speed of any nearby reader, so that a reader does not count as slow on a busy machine. */
const fastBytesPerMs = 2_048;
const measuredMs = 5;

let largeReaders = 0;

/**
 * Streams an open file from `start` to `end`, in chunks that depend on the speed of the reader. Closes the file at the
 * end.
 */
export class FileBytes extends Readable {
  readonly #file: FileHandle;
  readonly #end: number;
  #position: number;
  readonly #now: () => number;
  #isLarge = false;
  #measuredAt: number;
  #measuredPosition: number;

  /** @param now the time in ms, from which the speed of the reader is measured */
  constructor(file: FileHandle, start: number, end: number, now: () => number = () => performance.now()) {
    super({ highWaterMark: pieceBytes });
    this.#now = now;
    this.#measuredAt = now();
    this.#file = file;
    this.#position = start;
    this.#measuredPosition = start + 2 * pieceBytes; // read ahead, before the reader takes any
    this.#end = end;
  }

  override _read(): void {
    this.#measureSpeed();
    const length = Math.min(this.#isLarge ? largePieceBytes : pieceBytes, this.#end - this.#position);
    if (length <= 0) {
      this.push(null);
      return;
    }
    this.#file.read(Buffer.allocUnsafeSlow(length), 0, length, this.#position).then(
      ({ buffer, bytesRead }) => {
        this.#position += bytesRead;
        this.push(bytesRead === 0 ? null : buffer.subarray(0, bytesRead)); // 0 when the file was truncated
      },
      (error) => this.destroy(error),
    );
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#setLarge(false);
    this.#file.close().then(
      () => done(error),
      (failure) => done(error ?? failure),
    );
  }

  #measureSpeed(): void {
    const now = this.#now();
    const passedMs = now - this.#measuredAt;
    if (passedMs < measuredMs) return;
    this.#setLarge((this.#position - this.#measuredPosition) / passedMs >= fastBytesPerMs);
    this.#measuredAt = now;
    this.#measuredPosition = this.#position;
  }

  #setLarge(isWanted: boolean): void {
    if (this.#isLarge) largeReaders -= 1;
    this.#isLarge = isWanted && largeReaders < largeReadersMax;
    if (this.#isLarge) largeReaders += 1;
  }
}

const incomingName = ".incoming";
const movesMax = 10;

/**
 * Stores objects as files in a folder that only this account can access. A file is written to `.incoming` and moved to
 * its final path when it is on disk, so that readers see all of it or nothing.
 */
export async function openFolderStore(root: string): Promise<ByteStore> {
  const incoming = join(root, incomingName);
  const made = makeFolder(incoming);
  if (made !== undefined) for (const folder of ancestors(root, dirname(made))) await syncFolder(folder);

  async function write(key: string, bytes: AsyncIterable<Uint8Array>, signal: AbortSignal | undefined): Promise<void> {
    const draft = join(incoming, randomUUID());
    const target = join(root, key);
    let temporary = draft;
    try {
      await writeDraft(draft, abortable(bytes, signal));
      signal?.throwIfAborted();
      await moveInto(draft, target);
      temporary = target; // written, but may be lost in a power failure
      // Syncs all parent folders, because the process that made one may not have synced it yet. A missing folder was
      // deleted together with the object.
      for (const folder of ancestors(dirname(target), root)) await syncIfThere(folder);
    } catch (error) {
      await unlink(temporary).catch(() => {}); // cleanUp deletes it later
      throw error;
    }
  }

  return {
    bufferedBytes: () => 0,

    async write(key, bytes, { signal } = {}) {
      checkKey(key);
      signal?.throwIfAborted();
      await write(key, bytes, signal);
    },

    async read(key, range) {
      checkKey(key);
      const { file, length } = await openToRead(join(root, key), key);
      const { start, end } = range ?? { start: 0, end: length };
      return new FileBytes(file, start, Math.min(end, length));
    },

    async size(key) {
      checkKey(key);
      const found = await lstat(join(root, key)).catch(orMissing(undefined));
      return found?.isFile() === true ? found.size : undefined;
    },

    async deleteAll(prefix, signal) {
      checkPrefix(prefix);
      const cut = prefix.lastIndexOf("/") + 1;
      const folder = join(root, prefix.slice(0, cut));
      const beginning = prefix.slice(cut);
      while (await deleteOnce(folder, beginning, signal)); // some file systems skip entries while others are deleted
      await dropEmptyFolders(folder, root);
    },

    async check() {
      await lstat(incoming);
    },

    async cleanUp(olderThanMs, signal) {
      for await (const { name } of await opendir(incoming)) {
        signal?.throwIfAborted();
        const draft = join(incoming, name);
        const { mtimeMs } = await lstat(draft).catch(orMissing({ mtimeMs: Number.POSITIVE_INFINITY }));
        if (mtimeMs <= Date.now() - olderThanMs) await unlink(draft).catch(orMissing(undefined));
      }
    },
  };
}

async function writeDraft(draft: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  const file = await open(draft, "wx", 0o600).catch(rethrowFull);
  try {
    for await (const chunk of bytes) await writeChunk(file, chunk).catch(rethrowFull);
    await file.sync().catch(rethrowFull);
  } finally {
    await file.close();
  }
}

async function writeChunk(file: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let done = 0; done < chunk.length; ) done += (await file.write(chunk, done)).bytesWritten;
}

/** Creates missing parent folders, and retries if a concurrent deletion removes them. */
async function moveInto(draft: string, target: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await mkdir(dirname(target), { recursive: true, mode: 0o700 });
      await rename(draft, target);
      return;
    } catch (error) {
      if (!isMissing(error) || attempt === movesMax) rethrowFull(error);
    }
  }
}

/** A folder and its parents, up to `top`. */
function* ancestors(from: string, top: string): Generator<string> {
  for (let folder = from; ; folder = dirname(folder)) {
    yield folder;
    if (folder === top || folder === dirname(folder)) return;
  }
}

async function syncIfThere(folder: string): Promise<void> {
  await syncFolder(folder).catch(orMissing(undefined)).catch(rethrowFull);
}

async function openToRead(path: string, key: string): Promise<{ file: FileHandle; length: number }> {
  let file: FileHandle;
  try {
    file = await open(path, "r");
  } catch (error) {
    throw isMissing(error) ? new BytesMissing(key, { cause: error }) : error;
  }
  const status = await file.stat();
  if (status.isFile()) return { file, length: status.size };
  await file.close();
  throw new BytesMissing(key);
}

/** Deletes the matching entries of a folder, one at a time. @returns whether anything was deleted */
async function deleteOnce(folder: string, beginning: string, signal: AbortSignal | undefined): Promise<boolean> {
  let entries: Dir;
  try {
    entries = await opendir(folder);
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
  let isChanged = false;
  for await (const entry of entries) {
    if (!entry.name.startsWith(beginning)) continue;
    signal?.throwIfAborted();
    const path = join(folder, entry.name);
    if (entry.isDirectory()) while (await deleteOnce(path, "", signal));
    isChanged = (await deleteEntry(path, entry.isDirectory())) || isChanged;
  }
  if (isChanged) await syncIfThere(folder);
  return isChanged;
}

/**
 * Skips a folder that is being written to, and files that NFS retains for their readers. @returns whether it was
 * deleted
 */
async function deleteEntry(path: string, isFolder: boolean): Promise<boolean> {
  try {
    await (isFolder ? rmdir(path) : unlink(path));
    return true;
  } catch (error) {
    if (isMissing(error) || ["ENOTEMPTY", "EEXIST", "EBUSY"].includes(String(codeOf(error)))) return false;
    throw error;
  }
}

/** Deletes this folder and its parents while they are empty. */
async function dropEmptyFolders(from: string, root: string): Promise<void> {
  for (let folder = from; folder.length > root.length; folder = dirname(folder)) {
    const isGone = (await deleteEntry(folder, true)) || !existsSync(folder);
    if (!isGone) return;
  }
}

function orMissing<T>(instead: T): (error: unknown) => T {
  return (error) => {
    if (isMissing(error)) return instead;
    throw error;
  };
}

function isMissing(error: unknown): boolean {
  return codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR";
}

function rethrowFull(error: unknown): never {
  const isFull = ["ENOSPC", "EDQUOT", "EFBIG", "EMFILE", "ENFILE"].includes(String(codeOf(error)));
  throw isFull ? new ApiError("ServiceUnavailable", undefined, { cause: error }) : error;
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
