import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { sql } from "kysely";
import { createTestDeployment } from "./deployments.ts";
import { startTestApp, type TestApp, type TestUser } from "./harness.ts";
import { runProgram } from "./running-server.ts";
import { dataPart, upload } from "./uploads.ts";

/** Long commands show their progress only on a terminal. */

const folder = mkdtempSync(join(tmpdir(), "rollcall-test-"));
const backup = join(folder, "backup.tar");
const archive = join(folder, "application.tar");
let test: TestApp;
let settings: Readonly<Record<string, string>>;
let jane: TestUser;
before(async () => {
  test = await startTestApp();
  jane = await test.signUp("Jane");
  await upload(test, jane.token, "/blobs", dataPart(Buffer.alloc(3_145_728, "a blob ")));
  await sql`analyze`.execute(test.app.database.reads); // as autovacuum does later
  const { dataDir, databaseUrl, secrets } = test.config;
  settings = { DATA_DIR: dataDir, DATABASE_URL: databaseUrl, ROLLCALL_SECRET: secrets?.join() ?? "" };
});
after(async () => {
  await test.close();
  rmSync(folder, { recursive: true, force: true });
});

const onTerminal = (args: string[], more = {}) =>
  runProgram("test/terminal-program.ts", args, { ...settings, ...more });

/** The successive contents of the progress line, which is erased at the end. */
async function progressOf(args: string[], more = {}): Promise<string[]> {
  const { code, stderr } = await onTerminal(args, more);
  assert.equal(code, 0, stderr);
  const [before, ...lines] = stderr.split("\r\u001b[K");
  assert.deepEqual([before, lines.pop()], ["", ""], args.join(" "));
  return lines;
}

function assertShown(lines: readonly string[], patterns: readonly RegExp[]): void {
  for (const pattern of patterns) {
    assert.ok(
      lines.some((line) => pattern.test(line)),
      `${pattern} in ${JSON.stringify(lines)}`,
    );
  }
}

describe("progress of long commands", () => {
  it("backup shows rows, then bytes of files", async () => {
    const lines = await progressOf(["backup", backup, "--fast"]);
    assertShown(lines, [/^rows: about \d+ % \(\d+ rows\)$/, /^files: about \d+ % \(\d of 1 files, [\d.]+ of 3 MiB\)$/]);
  });

  it("backup and apps export give way to other programs, and with --fast they do not (docs/run/backup.md)", {
    skip: process.platform !== "linux" && "priorities per thread are of Linux",
  }, async () => {
    const calls = join(folder, "calls of chrt");
    writeFileSync(join(folder, "chrt"), `#!/bin/sh\necho "$1" >> '${calls}'\n`, { mode: 0o755 });
    const count = () => (existsSync(calls) ? readFileSync(calls, "utf8").length / "-i\n".length : 0);
    const run = (...args: string[]) => runProgram("src/cli/cli.ts", args, { ...settings, PATH: folder });
    for (const args of [["backup"], ["apps", "export", test.application.appid]]) {
      const before = count();
      const name = join(folder, `${args.length}.tar`);
      assert.equal((await run(...args, `${name}.fast`, "--fast")).code, 0);
      assert.equal(count(), before);
      assert.equal((await run(...args, name)).code, 0);
      assert.equal(count(), before + 1);
      assert.match((await run("verify-backup", `${name}.fast`)).stdout, /^intact: /);
    }
  });

  it("verify-backup shows the number of bytes that it has read", async () => {
    assertShown(await progressOf(["verify-backup", backup]), [/^checked: \d+ % \([\d.]+ of 3 MiB\)$/]);
  });

  it("restore shows both of its passes", async (t) => {
    const empty = await createTestDeployment({ isMigrated: false });
    t.after(empty.remove);
    const { DATA_DIR, DATABASE_URL } = empty.settings;
    const lines = await progressOf(["restore", backup], { DATA_DIR, DATABASE_URL });
    assertShown(lines, [/^checked: \d+ % \(/, /^restored: \d+ % \(/]);
  });

  it("apps export, apps import and users export show their progress", async () => {
    const { appid } = test.application;
    const [rows] = await progressOf(["apps", "export", appid, archive, "--fast"]);
    assert.match(rows ?? "", /^rows: (?:about \d+ % \()?\d+ rows\)?$/); // PostgreSQL has no estimate for one application
    const file = join(folder, "user.zip");
    assertShown(await progressOf(["users", "export", appid, jane.id, file]), [/^exported: (?:about \d+ % \()?[\d.]+ /]);
    await onTerminal(["apps", "delete", appid, "--yes"]);
    assertShown(await progressOf(["apps", "import", archive]), [/^imported: \d+ % \(/]);
  });

  it("migrate shows the current migration", async (t) => {
    const empty = await createTestDeployment({ isMigrated: false });
    t.after(empty.remove);
    const { DATA_DIR, DATABASE_URL } = empty.settings;
    assertShown(await progressOf(["migrate"], { DATA_DIR, DATABASE_URL }), [/^migrations: 0 % \(0001-/]);
  });

  it("short commands show no progress with --json, or without a terminal", async () => {
    const json = await onTerminal(["verify-backup", backup, "--json"]);
    const piped = await runProgram("src/cli/cli.ts", ["verify-backup", backup], settings);
    assert.deepEqual([json.code, json.stderr, piped.code, piped.stderr], [0, "", 0, ""]);
  });
});
