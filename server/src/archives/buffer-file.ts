import { randomUUID } from "node:crypto";
import { open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A list of any length outside of memory, written once and then read once. */
export interface BufferFile<T> {
  add(item: T): Promise<void>;
  items(): AsyncIterable<T>;
  close(): Promise<void>;
}

const charactersAtOnce = 65_536;

/** @returns a buffer in a temporary file; its items must be JSON */
export async function createBufferFile<T>(): Promise<BufferFile<T>> {
  const path = join(tmpdir(), `rollcall-${randomUUID()}`);
  const file = await open(path, "wx+", 0o600);
  await rm(path); // the open file remains usable, and disappears however this process ends
  let text = "";
  return {
    async add(item) {
      text += `${JSON.stringify(item)}\n`;
      if (text.length < charactersAtOnce) return;
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
