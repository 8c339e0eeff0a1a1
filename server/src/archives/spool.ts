import { randomUUID } from "node:crypto";
import { open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A list of any length that is not in memory: it is written once, and read once after that. */
export interface Spool<T> {
  add(item: T): Promise<void>;
  items(): AsyncIterable<T>;
  close(): Promise<void>;
}

const charactersAtOnce = 65_536;

/** @returns a spool in a temporary file; what is in it must be JSON */
export async function createSpool<T>(): Promise<Spool<T>> {
  const path = join(tmpdir(), `rollcall-${randomUUID()}`);
  const file = await open(path, "wx+", 0o600);
  await rm(path); // it is there as long as it is open, however this process ends
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
