import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, it } from "node:test";
import { commands } from "../src/cli/run.ts";
import { type CommandRun, runCommand } from "./command-line.ts";
import { createTestDeployment } from "./deployments.ts";
import { startTestApp, type TestApp } from "./harness.ts";
import { noEnvFile, rollcall, runProgram, serverEnvironment } from "./running-server.ts";

/** With `--json`, every command prints one JSON document to standard output, or one JSON error to standard error. */

const folder = mkdtempSync(join(tmpdir(), "rollcall-test-"));
const pathOf = (name: string) => join(folder, name);
let test: TestApp;
let settings: Readonly<Record<string, string>>;
before(async () => {
  test = await startTestApp();
  const { dataDir, databaseUrl, secrets, port } = test.config;
  settings = {
    DATA_DIR: dataDir,
    DATABASE_URL: databaseUrl,
    ROLLCALL_SECRET: secrets?.join() ?? "",
    PORT: `${port === 0 ? test.port : port}`,
    PASSWORD_HASH_MEMORY_KIB: "8",
    PASSWORD_HASH_PASSES: "1",
  };
});
after(async () => {
  await test.close();
  rmSync(folder, { recursive: true, force: true });
});

function run(
  command: string,
  args: readonly string[],
  more: Readonly<Record<string, string>> = {},
): Promise<CommandRun> {
  const line = [...(command === "" ? [] : command.split(" ")), ...args, "--json"];
  return runCommand(line, { ...settings, ...more }, { isTTY: true });
}

function parseLine(text: string): Record<string, unknown> {
  assert.match(text, /^[{[].*[}\]]\n$/, "one JSON document in one line");
  return JSON.parse(text);
}

function assertFailed({ code, stdout, stderr }: CommandRun, exitCode: number, command: string): void {
  assert.deepEqual([code, stdout], [exitCode, ""], `${command}: ${stderr}`);
  const { error } = parseLine(stderr) as { error: { message: string; exitCode: number; stack?: string } };
  assert.deepEqual([typeof error.message, error.exitCode, error.stack], ["string", exitCode, undefined], command);
  assert.doesNotMatch(error.message, /Usage:/, command);
}

/** Represents the members of an array. */
const list = ["array"];

/**
 * Arguments of successful commands, and the members of their documents, in an order in which all of them succeed.
 */
const successes: Readonly<Record<string, () => Promise<[args: string[], members: string[]]>>> = {
  migrate: async () => [[], ["applied"]],
  doctor: async () => [[], ["ok", "checks"]],
  health: async () => [[], ["state"]],
  accept: async () => [["--new-secret", "--new-region", "--clock"], ["accepted"]],
  "apps create": async () => [
    ["--name", "Made"],
    ["appid", "appkey"],
  ],
  "apps list": async () => [[], list],
  "apps configure": async () => {
    writeFileSync(pathOf("settings.json"), "{}");
    return [[test.application.appid, pathOf("settings.json")], ["oidc"]];
  },
  "apps rename": async () => [
    [test.application.appid, "--name", "Renamed"],
    ["appid", "name"],
  ],
  "apps suspend": async () => [[test.application.appid], ["appid", "state"]],
  "apps resume": async () => [[test.application.appid], ["appid", "state"]],
  "devices revoke": async () => {
    const token = await test.registerDevice();
    const { id } = (await test.call("GET /devices/current", { token })).body.result;
    return [
      [test.application.appid, id],
      ["id", "revoked"],
    ];
  },
  "apps keys list": async () => [[test.application.appid], list],
  "apps keys create": async () => [
    [test.application.appid, "--label", "L"],
    ["id", "appkey", "label"],
  ],
  "apps keys revoke-tokens": async () => [
    [test.application.appid, await keyId(), "--yes"],
    ["id", "revoked"],
  ],
  "apps keys retire": async () => [
    [test.application.appid, await keyId(), "--yes"],
    ["id", "state"],
  ],
  "apps secret set": async () => [[test.application.appid], ["secret"]],
  "apps secret delete": async () => [
    [test.application.appid, "--yes"],
    ["appid", "deleted"],
  ],
  "apps revoke-tokens": async () => [
    [test.application.appid, "--yes"],
    ["appid", "revoked"],
  ],
  "apps compromised": async () => [
    [test.application.appid, "--yes"],
    ["id", "appkey"],
  ],
  "users disable": async () => [await user(), ["id", "isDisabled"]],
  "users enable": async () => [await user(), ["id", "isDisabled"]],
  "users revoke": async () => [await user(), ["id", "revoked"]],
  "users export": async () => [
    [...(await user()), pathOf("user.zip")],
    ["id", "file"],
  ],
  "users erase": async () => [
    [...(await user()), "--yes"],
    ["id", "erased", "isComplete"],
  ],
  "operators create": async () => [
    ["--name", "Ada"],
    ["id", "name", "role", "password"],
  ],
  "operators list": async () => [[], list],
  "operators role": async () => [
    [(await test.createOperator(undefined, "viewer")).id, "editor"],
    ["id", "role"],
  ],
  "operators password": async () => [[(await test.createOperator(undefined, "viewer")).id], ["id", "password"]],
  "operators delete": async () => [
    [(await test.createOperator(undefined, "viewer")).id, "--yes"],
    ["id", "deleted"],
  ],
  audit: async () => [[], list],
  backup: async () => [
    [pathOf("all.tar"), "--fast"],
    ["file", "rows", "files", "bytes", "missing"],
  ],
  "verify-backup": async () => [[pathOf("all.tar")], ["head", "end"]],
  "apps export": async () => [
    [test.application.appid, pathOf("app.tar"), "--fast"],
    ["file", "rows", "files", "bytes", "missing"],
  ],
  "apps delete": async () => [
    [test.application.appid, "--yes"],
    ["appid", "deleted"],
  ],
  "apps import": async () => [[pathOf("app.tar")], ["applicationId", "rows", "end", "hasTokens"]],
};
/**
 * Commands that need another deployment; tested below, in `regions.moves.process.test.ts` (`apps move`), and in
 * `scripts/test-citus.ts` (`distribute`).
 */
const remoteSuccess = ["serve", "restore", "regions key", "apps move", "apps locate", "distribute"];

async function user(): Promise<string[]> {
  const { reads } = test.app.database;
  const { application_id, id } = await reads
    .selectFrom("users")
    .select(["application_id", "id"])
    .executeTakeFirstOrThrow();
  return [application_id, id];
}

async function keyId(): Promise<string> {
  const { appid } = test.application;
  const { reads } = test.app.database;
  const keys = reads.selectFrom("application_keys").select("id").where("application_id", "=", appid);
  return (await keys.executeTakeFirstOrThrow()).id;
}

/** Commands without arguments, which fail because of their settings or a closed port. */
const withoutArguments = ["serve", "migrate", "doctor", "health", "apps list", "operators list", "audit"];
const noDatabase = { DATABASE_URL: "postgres://user:pa55word@127.0.0.1:1/x", DATABASE_TIMEOUT_MS: "1000", PORT: "1" };

describe("--json", () => {
  it("every command has a test case", () => {
    assert.deepEqual(Object.keys(commands).sort(), [...Object.keys(successes), ...remoteSuccess].sort());
  });

  it("a successful command prints one document on standard output, and nothing else", async () => {
    await test.signUp("Jane");
    for (const [command, prepare] of Object.entries(successes)) {
      const [args, members] = await prepare();
      const { code, stdout, stderr } = await run(command, args);
      assert.deepEqual([code, stderr], [0, ""], command);
      const document = parseLine(stdout);
      assert.deepEqual(Array.isArray(document) ? list : Object.keys(document), members, command);
    }
  });

  it("restore prints the header and the trailer of the backup", async (t) => {
    const empty = await createTestDeployment({ isMigrated: false });
    t.after(empty.remove);
    await run("backup", [pathOf("restored.tar"), "--fast"]);
    const { DATA_DIR, DATABASE_URL } = empty.settings;
    const { code, stdout, stderr } = await run("restore", [pathOf("restored.tar")], { DATA_DIR, DATABASE_URL });
    assert.deepEqual([code, stderr], [0, ""]);
    assert.deepEqual(Object.keys(parseLine(stdout)), ["head", "end"]);
  });

  it("regions key prints the setting", async () => {
    const regions = { REGIONS: "main=http://127.0.0.1:1,eu=http://127.0.0.1:2", REGION_SECRET: "between the regions" };
    const { code, stdout } = await run("regions key", ["--region", "eu"], regions);
    assert.deepEqual([code, Object.keys(parseLine(stdout))], [0, ["REGION_SECRET"]]);
  });

  it("serve prints lines of JSON, starting with the credentials of a first start", async (t) => {
    const empty = await createTestDeployment({ isMigrated: false });
    t.after(empty.remove);
    const env = { ...serverEnvironment, ...settings, ...empty.settings, PORT: "0" };
    const stdio = ["ignore", "pipe", "inherit"] as const;
    const child = spawn(process.execPath, [rollcall, "serve", "--json"], { cwd: noEnvFile, env, stdio: [...stdio] });
    const exited = once(child, "exit");
    assert.ok(child.stdout);
    const lines: Record<string, unknown>[] = [];
    for await (const line of createInterface(child.stdout)) {
      lines.push(JSON.parse(line));
      if (lines.at(-1)?.["msg"] === "listening") child.kill("SIGTERM");
    }
    assert.deepEqual([(await exited)[0], lines.some(({ msg }) => msg === "stopped")], [0, true]);
    const { operator } = lines[0] as { operator: object };
    assert.deepEqual(Object.keys(operator), ["name", "password", "mustChangePassword"]);
  });

  it("a failed command prints one error on standard error, and exits with its documented code", async () => {
    for (const command of Object.keys(commands)) {
      assertFailed(await run(command, ["--no-such-option"]), 2, command);
      if (!withoutArguments.includes(command)) {
        assertFailed(await run(command, []), 2, command);
      } else if (command === "doctor") {
        const { code, stdout, stderr } = await run(command, [], noDatabase);
        assert.deepEqual([code, parseLine(stdout)["ok"]], [1, false]);
        assertFailed({ code, stdout: "", stderr }, 1, command); // it prints a result despite its exit code
      } else if (command !== "serve") {
        assertFailed(await run(command, [], noDatabase), 1, command);
      }
    }
  });

  it("serve fails with one error on standard error", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const { port } = taken.address() as { port: number };
    const failed = await runProgram("src/cli/cli.ts", ["serve", "--json"], { ...settings, PORT: `${port}` });
    taken.close();
    assertFailed(failed, 1, "serve");
    assert.match(failed.stderr, /EADDRINUSE/);
  });

  it("warnings are a member of the document", async () => {
    const settingsOfOther = { REGION: "eu" };
    const { appid } = JSON.parse((await run("apps create", ["--name", "Exported"])).stdout);
    await run("apps export", [appid, pathOf("other.tar"), "--fast"]);
    await run("apps delete", [appid, "--yes"]);
    const { code, stdout, stderr } = await run("apps import", [pathOf("other.tar")], settingsOfOther);
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(String(parseLine(stdout)["warnings"]), /another ROLLCALL_SECRET or another region/);
  });

  it("help, --version and an unknown command print one document", async () => {
    const all = parseLine((await run("help", [])).stdout) as { commands: { synopsis: string }[] };
    for (const command of Object.keys(commands)) {
      assert.ok(
        all.commands.some(({ synopsis }) => `${synopsis} `.startsWith(`${command} `)),
        `help on ${command}`,
      );
    }
    for (const { synopsis } of all.commands) {
      assert.ok(
        Object.keys(commands).some((command) => `${synopsis} `.startsWith(`${command} `)),
        `the command of ${synopsis}`,
      );
    }
    const one = parseLine((await run("help", ["backup"])).stdout) as { commands: { synopsis: string }[] };
    assert.deepEqual(
      one.commands.map(({ synopsis }) => synopsis),
      ["backup FILE [--without-files] [--fast]"],
    );
    assert.deepEqual(Object.keys(parseLine((await run("", ["--version"])).stdout)), ["version"]);
    for (const words of ["", "bakup", "apps", "apps lsit"]) assertFailed(await run(words, []), 2, words);
  });

  it("wrong settings are reported as one error", async () => {
    assertFailed(await run("apps list", [], { PORT: "x" }), 1, "apps list");
  });
});
