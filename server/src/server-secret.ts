import { randomUUID } from "node:crypto";
import { existsSync, linkSync, mkdirSync, readFileSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "./config.ts";
import { newServerSecret } from "./lib/secrets.ts";

/**
 * The secrets that seal tokens, newest first: those of ROLLCALL_SECRET, else the lines of the file `secret` in DATA_DIR,
 * which is made on first use with mode 0600. To rotate, put a new line on top.
 */
export function loadSecrets(config: Pick<Config, "secrets" | "dataDir">): readonly string[] {
  if (config.secrets !== undefined) return config.secrets;
  const file = join(config.dataDir, "secret");
  if (!existsSync(file)) createSecretFile(config.dataDir, file);
  const lines = readFileSync(file, "utf8")
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  if (lines.length === 0) throw new Error(`${file} holds no secret`);
  return lines;
}

/** Whole or not at all, and one winner when several processes start at once: a link never replaces a file. */
function createSecretFile(dataDir: string, file: string): void {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const draft = `${file}.${randomUUID()}`;
  writeFileSync(draft, `${newServerSecret()}\n`, { mode: 0o600, flag: "wx", flush: true });
  try {
    linkSync(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    unlinkSync(draft);
  }
}
