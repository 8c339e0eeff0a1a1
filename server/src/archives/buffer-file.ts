import { randomUUID } from "node:crypto";
import { type FileHandle, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A list in a temporary file, for lists that do not fit into memory. Write it once, then read it once. */
export interface BufferFile<T> {
  add(item: T): Promise<void>;
  items(): AsyncIterable<T>;
  close(): Promise<void>;
}

const charactersPerWrite = 65_536;

/**
 * @param folder preferred over the system's folder for temporary files, which may be small or read-only
 * @returns a buffer in a temporary file; its items must be JSON
 */
export async function createBufferFile<T>(folder?: string): Promise<BufferFile<T>> {
  const file = folder === undefined ? await openIn(tmpdir()) : await openIn(folder).catch(() => openIn(tmpdir()));
  let text = "";
  return {
    async add(item) {
      text += `${JSON.stringify(item)}\n`;
      if (text.length < charactersPerWrite) return;
      const lines = text;
      text = "";
      await file.appendFile(lines);
    },
    async *items() {
      await file.appendFile(text);
      for await (const line of file.readLines({ start: 0, autoClose: false })) yield JSON.parse(line) as T;
    },
    close: () => file.close(),
  };
}

async function openIn(folder: string): Promise<FileHandle> {
  const path = join(folder, `.rollcall-${randomUUID()}`);
  const file = await open(path, "wx+", 0o600);
  await rm(path); // the open file stays usable, and disappears with the process even after a kill
  return file;
}
