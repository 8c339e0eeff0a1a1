import { randomBytes } from "node:crypto";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../lib/clock.ts";

/** Stores mails as files instead of sending them, for trials and tests. */
export interface MailFolder {
  /** Writes a mail atomically, readable by this account only. @returns the file's name, which sorts by time */
  write(bytes: Uint8Array): Promise<string>;
}

export function createMailFolder(folder: string, clock: Clock): MailFolder {
  let writtenLast = 0;
  return {
    async write(bytes) {
      writtenLast = Math.max(clock.now(), writtenLast + 1); // keeps the order within one millisecond
      const time = new Date(writtenLast).toISOString().replaceAll(":", "-");
      const name = `${time}-${randomBytes(6).toString("hex")}.eml`;
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const draft = join(folder, `.${name}.draft`);
      try {
        await writeFile(draft, bytes, { mode: 0o600, flag: "wx", flush: true });
        await rename(draft, join(folder, name));
      } catch (error) {
        await rm(draft, { force: true });
        throw error;
      }
      return name;
    },
  };
}
