import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { build, version } from "../src/config/version.ts";
import { runCommand } from "./command-line.ts";
import { createTestDeployment } from "./deployments.ts";
import { runProgram } from "./running-server.ts";

const folder = mkdtempSync(join(tmpdir(), "rollcall-test-"));
after(() => rmSync(folder, { recursive: true, force: true }));
const settings = { DATA_DIR: join(folder, "data") };
const run = (...args: string[]) => runCommand(args, settings);

describe("the command line", () => {
  it("--version prints the release and the commit", async () => {
    assert.deepEqual(await run("--version"), { code: 0, stdout: `${build}\n`, stderr: "" });
    if (existsSync(join(import.meta.dirname, "../../.git"))) assert.match(build, /^[\d.]+\+[0-9a-f]{12}$/);
    assert.ok(build.startsWith(version));
  });

  it("help and --help print all commands, or the usage of the named command", async () => {
    const all = await run("help");
    assert.match(all.stdout, /^Usage: rollcall <command>\n[\s\S]*\n {2}serve [\s\S]*\n {2}audit /);
    assert.deepEqual(await run("--help"), all);
    const one = await run("help", "verify-backup");
    assert.match(one.stdout, /\n {2}verify-backup FILE/);
    assert.doesNotMatch(one.stdout, /restore|serve/);
    assert.deepEqual(await run("verify-backup", "--help"), one);
  });

  it("an unknown command suggests similar ones, and a group lists its commands", async () => {
    for (const [words, near] of [
      [["bakup"], "backup"],
      [["aps", "list"], "apps list"],
      [["apps", "lsit"], "apps list"],
      [["operator", "list"], "operators list"],
    ] as const) {
      const { code, stdout, stderr } = await run(...words);
      assert.deepEqual([code, stdout], [2, ""]);
      assert.match(stderr, new RegExp(`^there is no command "${words.join(" ")}"\\. Did you mean [a-z ,]*${near}`));
    }
    const group = await run("users");
    assert.equal(group.code, 2);
    assert.match(group.stderr, /users disable[\s\S]*users export/);
    assert.doesNotMatch(group.stderr, /operators|apps create/);
  });

  it("incorrect usage of a command prints the usage of that command only", async () => {
    for (const args of [["backup"], ["backup", "--what"]]) {
      const { code, stderr } = await run(...args);
      assert.equal(code, 2);
      assert.match(stderr, /\n {2}backup FILE/);
      assert.doesNotMatch(stderr, /operators/);
    }
  });
});

describe("rollcall doctor", () => {
  it("creates nothing, and exits with 0 if all checks succeed", async () => {
    const { code, stdout } = await run("doctor", "--json");
    const { ok, checks } = JSON.parse(stdout);
    assert.deepEqual([code, ok], [0, true]);
    const found = checks.map(({ check }: { check: string }) => check);
    assert.deepEqual(found, [
      "settings",
      "database",
      "deployment",
      "backup",
      "disk",
      "files",
      "mail",
      "tls",
      "regions",
    ]);
    assert.ok(!existsSync(settings.DATA_DIR));
  });

  it("checks the database of a deployment, and prints a line for each failure", async (t) => {
    const deployment = await createTestDeployment();
    t.after(deployment.remove);
    const well = await runProgram("src/cli/cli.ts", ["doctor"], deployment.settings);
    assert.match(well.stdout, /^ok {4}database {4}DATABASE_URL: /m);
    const { code, stdout } = await runProgram("src/cli/cli.ts", ["doctor"], {
      ROLLCALL_SECRET: "a secret for tests",
      DATA_DIR: join(folder, "ill"),
      DATABASE_URL: "postgres://user:pa55word@127.0.0.1:1/x",
      DATABASE_TIMEOUT_MS: "1000",
      SMTP_URL: "smtp://user:pa55word@127.0.0.1:1",
      TLS_CERT_FILE: join(folder, "no-such.pem"),
      TLS_KEY_FILE: join(folder, "no-such.pem"),
      REGIONS: "main=http://127.0.0.1:1,eu=http://127.0.0.1:1",
      REGION_SECRET: "a secret between regions",
    });
    assert.equal(code, 1);
    assert.match(stdout, /^fail {2}database {4}DATABASE_URL: cannot connect to 127\.0\.0\.1:1 \(ECONNREFUSED\)/m);
    assert.match(stdout, /^fail {2}mail {8}SMTP_URL: 127\.0\.0\.1:1 does not take mails from us \(ESOCKET|ECONN/m);
    assert.match(stdout, /^fail {2}tls {9}.*TLS_CERT_FILE/ms);
    assert.match(stdout, /^fail {2}regions {5}REGIONS: no answer from eu/m);
    assert.doesNotMatch(stdout, /pa55word/);
  });
});
