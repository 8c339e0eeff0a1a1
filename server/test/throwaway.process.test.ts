// Runs on one engine: a throwaway server has the embedded database.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, describe, it } from "node:test";
import { throwawayConfig } from "../src/cli/throwaway.ts";
import { startThrowaway } from "../testing.mjs";
import { send } from "./harness.ts";
import { waitUntil } from "./mails.ts";
import { noEnvFile, outputOf, rollcall, runProgram, serverEnvironment } from "./running-server.ts";

const folder = mkdtempSync(join(tmpdir(), "rollcall-test-"));
const running = new Set<ChildProcess>();
after(() => {
  for (const child of running) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

function portOf(url: string): number {
  return Number(new URL(url).port);
}

async function registerAt({ url, appid, appkey }: { url: string; appid: string; appkey: string }): Promise<number> {
  return (await send(portOf(url), "POST", "/devices", { body: { appid, appkey, platform: "test" } })).status;
}

/** Runs `rollcall serve --throwaway` with an IPC channel and its temporary folders below that of this test. */
function serveThrowaway(...args: string[]) {
  const child = spawn(process.execPath, [rollcall, "serve", "--throwaway", ...args], {
    cwd: noEnvFile,
    env: { ...serverEnvironment, TMPDIR: folder },
    stdio: ["ignore", "pipe", "inherit", "ipc"],
  });
  running.add(child);
  return { child, exited: once(child, "exit").finally(() => running.delete(child)) };
}

describe("rollcall serve --throwaway", () => {
  it("prints its record as the first line with --json, and deletes its data when the IPC channel closes", async () => {
    const { child, exited } = serveThrowaway("--json");
    assert.ok(child.stdout);
    const [first] = await once(createInterface(child.stdout), "line");
    const record = JSON.parse(first);
    assert.deepEqual(Object.keys(record), ["url", "appid", "appkey", "operator", "dataDir"]);
    assert.match(record.url, /^http:\/\/127\.0\.0\.1:\d+$/);
    assert.ok(record.dataDir.startsWith(folder));
    assert.equal(statSync(record.dataDir).mode & 0o777, 0o700);
    const signedIn = await send(portOf(record.url), "POST", "/_/api/sessions", { body: record.operator });
    assert.equal(signedIn.body.result.operator.role, "owner");
    const registration = { appid: record.appid, appkey: record.appkey, platform: "test" };
    const headers = { "Rollcall-Rehearse": "ServiceUnavailable" };
    const rehearsed = await send(portOf(record.url), "POST", "/devices", { body: registration, headers });
    assert.equal(rehearsed.headers["rollcall-rehearsed"], "ServiceUnavailable");
    const { token } = signedIn.body.result;
    const { body } = await send(portOf(record.url), "GET", "/_/api/applications", { token });
    assert.deepEqual(
      body.result.pageResults.map(({ name, id }: { name: string; id: string }) => [name, id]),
      [["Test", record.appid]],
    );
    child.disconnect();
    assert.deepEqual(await exited, [0, null]);
    assert.ok(!existsSync(record.dataDir));
  });

  it("prints its credentials for a person, and deletes its data at SIGINT", async () => {
    const { child, exited } = serveThrowaway();
    const output = outputOf(child);
    await waitUntil(() => /data {6}\S+\n/.test(output()), "the print of the credentials");
    const [, dataDir = ""] = /data {6}(\S+)\n/.exec(output()) ?? [];
    assert.ok(existsSync(dataDir));
    child.kill("SIGINT");
    assert.deepEqual(await exited, [0, null]);
    assert.ok(!existsSync(dataDir));
  });

  it("refuses settings that lead to persistent data, and other addresses, with exit code 2", async () => {
    const wrong: [string, string][] = [
      ["DATA_DIR", folder],
      ["DATABASE_URL", "postgres://127.0.0.1:1/x"],
      ["FILES_URL", "file:///tmp"],
      ["REGIONS", "main=http://127.0.0.1:1"],
      ["HOST", "0.0.0.0"],
    ];
    for (const [name, value] of wrong) {
      assert.throws(() => throwawayConfig({ [name]: value }, {}), new RegExp(`^Error: ${name} is .*unset it$`));
    }
    for (const args of [
      ["serve", "--throwaway", "--json", "--resume", folder],
      ["serve", "--resume", folder],
      ["apps", "list", "--throwaway"],
    ]) {
      const { code, stdout, stderr } = await runProgram("src/cli/cli.ts", args, {});
      assert.deepEqual([code, stdout], [2, ""]);
      assert.match(stderr, /throwaway/);
    }
    const { code } = await runProgram("src/cli/cli.ts", ["serve", "--throwaway"], {
      DATABASE_URL: "postgres://127.0.0.1:1/x",
    });
    assert.equal(code, 2);
  });

  it("listens on a free port of this machine, regardless of PORT", () => {
    const { host, port } = throwawayConfig({ PORT: "80", HOST: "127.0.0.1" }, {});
    assert.deepEqual([host, port], ["127.0.0.1", 0]);
  });
});

describe("startThrowaway", () => {
  it("applies settings, survives a kill with its data and its URL, reports its log, and deletes its data when it closes", async () => {
    const lines: string[] = [];
    const limits = { operations: { "POST /devices": { perSecond: 1, burst: 2 } } };
    const server = await startThrowaway({
      settings: { limits },
      env: { TMPDIR: folder, RATE_LIMIT_NEW_DEVICES_PER_SECOND: "0" },
      onLogLine: (line) => lines.push(line),
    });
    try {
      assert.deepEqual([await registerAt(server), await registerAt(server)], [201, 201]);
      assert.equal(await registerAt(server), 429);
      await server.kill();
      await assert.rejects(registerAt(server), /ECONNREFUSED/);
      assert.ok(existsSync(join(server.dataDir, "rollcall.db")));
      await server.restart();
      assert.equal(await registerAt(server), 201);
      await waitUntil(
        () => lines.some((line) => JSON.parse(line).operation === "registerDevice"),
        "the line of a call",
      );
    } finally {
      await server.stop();
    }
    assert.ok(!existsSync(server.dataDir));
  });

  it("rejects with the message of the server, and deletes its folder", async () => {
    const env = { TMPDIR: mkdtempSync(join(folder, "own-")) };
    await assert.rejects(startThrowaway({ env: { ...env, LOG_LEVEL: "loud" } }), /LOG_LEVEL must/);
    await assert.rejects(startThrowaway({ env, settings: { limits: 7 } }), /limits must/);
    const isLeft = () => readdirSync(env.TMPDIR).some((name) => name.startsWith("rollcall-throwaway"));
    await waitUntil(() => !isLeft(), "the deletion of the folder");
  });
});
