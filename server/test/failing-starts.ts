import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runProgram } from "./running-server.ts";

const basics = { ROLLCALL_SECRET: "a secret for tests", DATABASE_TIMEOUT_MS: "1000", LOG_LEVEL: "error" };

/** Runs a start that fails with these settings, and returns its output, which has no stack and no password. */
export async function failureOf(settings: Readonly<Record<string, string>>): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "rollcall-test-"));
  const given = { DATA_DIR: join(folder, "data"), PORT: "0", ...basics, ...settings };
  const { code, stdout, stderr } = await runProgram("src/main.ts", [], given);
  rmSync(folder, { recursive: true, force: true });
  assert.deepEqual([code, stdout], [1, ""]);
  assert.doesNotMatch(stderr, /\n\s+at |pa55word/);
  return stderr.trimEnd();
}
