// Runs on one engine: it starts servers with the embedded database.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, statSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, describe, it } from "node:test";
import { promisify } from "node:util";
import { createTestDeployment, signUpAt } from "./deployments.ts";
import { curlPattern, demoPattern, operatorPattern, ownerPattern } from "./first-start.ts";
import { type CallOptions, send } from "./harness.ts";
import { waitUntil } from "./mails.ts";
import { killRunningServers, runProgram, spawnProgram, startProgram } from "./running-server.ts";

const folder = mkdtempSync(join(tmpdir(), "rollcall-test-"));
let folders = 0;
afterEach(killRunningServers);
after(() => rmSync(folder, { recursive: true, force: true }));

/** A path for DATA_DIR that does not exist yet. */
function newFolder(): string {
  folders += 1;
  return join(folder, `${folders}`);
}

function post(port: number, path: string, body: unknown, options: CallOptions = {}) {
  return send(port, "POST", path, { body, ...options });
}

describe("the first start on an empty DATA_DIR", () => {
  it("prints working credentials of a demo application and of an operator once; later starts print none", async () => {
    const settings = { DATA_DIR: newFolder() };
    const first = await startProgram(settings);
    await waitUntil(() => operatorPattern.test(first.output()), "the print of the calls");
    assert.equal(first.output().match(demoPattern)?.length, 1);
    const [, path = "", body = ""] = curlPattern.exec(first.output()) ?? [];
    const answer = await post(first.port, path, body);
    assert.equal(answer.status, 201);
    assert.equal(first.output().match(ownerPattern)?.length, 1);
    const [, script = ""] = operatorPattern.exec(first.output()) ?? [];
    const printed = await promisify(execFile)("sh", ["-c", script]);
    const applications = { body: JSON.parse(printed.stdout) };
    assert.deepEqual(
      applications.body.result.pageResults.map(({ name }: { name: string }) => name),
      ["Demo"],
    );
    assert.equal(await first.end("SIGTERM"), 0);

    const second = await startProgram(settings);
    assert.equal((await post(second.port, path, body)).status, 201);
    const token: string = answer.body.result.accessToken; // issued by the first process
    const created = await post(second.port, "/users", { username: "a", password: "password" }, { token });
    assert.equal(created.status, 200);
    assert.equal(await second.end("SIGTERM"), 0);
    assert.doesNotMatch(second.output(), /appid|appkey|rk_|ro_|password/);
  });

  it("protects its data: the secret has mode 0600, the folder 0700, and the secret is not printed", async () => {
    const dataDir = newFolder();
    const server = await startProgram({ DATA_DIR: dataDir });
    const mode = (...path: string[]) => (statSync(join(dataDir, ...path)).mode & 0o777).toString(8);
    assert.deepEqual(
      [mode("secret"), mode("rollcall.db"), mode("rollcall.db-wal"), mode()],
      ["600", "600", "600", "700"],
    );
    await server.end("SIGTERM");
    const secret = readFileSync(join(dataDir, "secret"), "utf8").trim();
    assert.match(secret, /^[0-9a-f]{64}$/);
    assert.ok(!server.output().includes(secret));
  });

  it("creates one demo application and one secret for two simultaneous processes, and both serve (hostile.md 36)", async () => {
    const settings = { DATA_DIR: newFolder() };
    const [a, b] = await Promise.all([startProgram(settings), startProgram(settings)]);
    await waitUntil(() => curlPattern.test(a.output() + b.output()), "the print of the calls");
    const demos = [...(a.output() + b.output()).matchAll(demoPattern)];
    assert.equal(demos.length, 1);
    assert.equal((a.output() + b.output()).match(ownerPattern)?.length, 1);
    const [, appid = "", appkey = ""] = demos[0] ?? [];
    const { token } = await signUpAt(a.port, { appid, appkey });
    for (const { port } of [a, b]) assert.equal((await send(port, "GET", "/users/me", { token })).status, 200);
    assert.deepEqual(await Promise.all([a.end("SIGTERM"), b.end("SIGTERM")]), [0, 0]);
  });

  it("fails on a port in use with a clear error and a non-zero exit code; the next start creates the demo application", async () => {
    const blocker = createServer().listen(0, "127.0.0.1");
    await once(blocker, "listening");
    const { port } = blocker.address() as AddressInfo; // listens on TCP
    const settings = { DATA_DIR: newFolder() };
    const { code, stdout, stderr } = await runProgram("src/main.ts", [], { ...settings, PORT: `${port}` });
    blocker.close();
    assert.equal(code, 1);
    assert.match(stderr, new RegExp(`^PORT: 127\\.0\\.0\\.1:${port} is in use`));
    assert.doesNotMatch(stderr, /\n\s+at /);

    const server = await startProgram(settings);
    await waitUntil(() => operatorPattern.test(server.output()), "the print of the calls");
    await server.end("SIGTERM");
    assert.equal(stdout, "");
    assert.equal(server.output().match(demoPattern)?.length, 1);
    assert.equal(server.output().match(ownerPattern)?.length, 1);
  });
});

describe("a first start whose output is redirected to a file", () => {
  it("creates an owner who must first set another password, and prints how", async () => {
    const { settings, remove } = await createTestDeployment();
    const file = join(settings.DATA_DIR, "out.log");
    const output = openSync(file, "a");
    const { child, exited } = spawnProgram(settings, { stdout: output });
    const said = () => readFileSync(file, "utf8");
    const portPattern = /"url":"http:\/\/127\.0\.0\.1:(\d+)"/;
    // The log is flushed after 100 ms, the instructions immediately.
    await waitUntil(() => said().includes("YOUR NEW PASSWORD") && portPattern.test(said()), "the print of the calls");
    assert.match(said(), /must be changed first, because this output is stored/);
    const port = Number(portPattern.exec(said())?.[1]);
    const password = / {2}password {2}(\S+)\n/.exec(said())?.[1];
    const signedIn = await post(port, "/_/api/sessions", { name: "owner", password });
    const token: string = signedIn.body.result.token;
    assert.equal((await send(port, "GET", "/_/api/applications", { token })).body.error, "AuthPasswordChangeRequired");
    const body = { currentPassword: password, password: "another good password" };
    assert.equal((await send(port, "PATCH", "/_/api/operators/me", { token, body })).status, 200);
    assert.equal((await send(port, "GET", "/_/api/applications", { token })).status, 200);
    child.kill("SIGTERM");
    await exited;
    closeSync(output);
    await remove();
  });
});

describe("invalid settings", () => {
  it("are all reported, without a stack, with exit code 1", async () => {
    const settings = { DATA_DIR: newFolder(), PORT: "http", LOG_LEVEL: "loud", REGION: "Mars!", BODY_BYTES_MAX: "-1" };
    const { code, stdout, stderr } = await runProgram("src/main.ts", [], settings);
    assert.deepEqual([code, stdout], [1, ""]);
    for (const name of ["PORT", "LOG_LEVEL", "REGION", "BODY_BYTES_MAX"])
      assert.match(stderr, new RegExp(`^  ${name} must`, "m"));
    assert.doesNotMatch(stderr, /\n\s+at /);
  });

  it("PostgreSQL without ROLLCALL_SECRET is refused before a connection attempt", async () => {
    const settings = { DATA_DIR: newFolder(), DATABASE_URL: "postgres://127.0.0.1:1/nowhere" };
    const { code, stderr } = await runProgram("src/main.ts", [], settings);
    assert.equal(code, 1);
    assert.match(stderr, /ROLLCALL_SECRET must be set when DATABASE_URL names PostgreSQL/);
    assert.doesNotMatch(stderr, /ECONNREFUSED|\n\s+at /);
  });

  it("an unreachable database stops the start with the reason", async () => {
    const settings = {
      DATA_DIR: newFolder(),
      DATABASE_URL: "postgres://127.0.0.1:1/nowhere",
      DATABASE_TIMEOUT_MS: "1000",
    };
    const { code, stderr } = await runProgram("src/main.ts", [], {
      ...settings,
      ROLLCALL_SECRET: "a secret for tests",
    });
    assert.equal(code, 1);
    assert.match(stderr, /ECONNREFUSED/);
    assert.doesNotMatch(stderr, /\n\s+at /);
  });
});
