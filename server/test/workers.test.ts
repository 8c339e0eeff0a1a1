import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { Agent, get } from "node:http";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { join } from "node:path";
import { after, afterEach, before, describe, it } from "node:test";
import type { NewApplication } from "../src/applications/applications.store.ts";
import { createTestApplication, createTestDeployment, type TestDeployment } from "./deployments.ts";
import { assertError, send } from "./harness.ts";
import { killRunningServers, type RunningServer, runProgram, startProgram, workersOf } from "./running-server.ts";

/** Several processes of one machine behind one port: `WORKERS`. */

let deployment: TestDeployment;
let application: NewApplication;
let settings: Readonly<Record<string, string>>;
before(async () => {
  deployment = await createTestDeployment();
  settings = { ...deployment.settings, PASSWORD_HASH_PASSES: "1", WORKERS: "2" };
  application = await createTestApplication(deployment.settings);
});
afterEach(killRunningServers);
after(() => deployment.remove());

async function waitUntil(isSo: () => boolean): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (!isSo()) {
    assert.ok(Date.now() < deadline, "the condition did not become true in time");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const listeningPattern = /"worker":(\d+),"url"/g;

/** Starts the program and waits until all of its workers listen. */
async function startWorkers(more: Readonly<Record<string, string>> = {}): Promise<RunningServer> {
  const server = await startProgram({ ...settings, ...more });
  await waitUntil(() => new Set(server.output().match(listeningPattern)).size === 2);
  return server;
}

/** Makes calls over new connections until each worker has answered some. */
async function callAll(server: RunningServer, method: string, path: string, options: Parameters<typeof send>[3] = {}) {
  const answers = [];
  for (let calls = 0; calls < 20; calls += 1) {
    answers.push(await send(server.port, method, path, { ...options, headers: { connection: "close" } }));
  }
  return answers;
}

/** Returns the workers that have answered calls, from the log. */
function answeredBy(server: RunningServer): number[] {
  const lines = server.output().matchAll(/"worker":(\d+),"request_id"/g);
  return [...new Set([...lines].map(([, worker]) => Number(worker)))].sort();
}

// spec/deployment#worker-processes
describe("WORKERS", { skip: process.platform !== "linux" && "looks into /proc" }, () => {
  it("several processes serve one port, and a token that one of them has revoked is refused by all", async () => {
    const server = await startWorkers();
    assert.equal(workersOf(server).length, 2);
    const device = await send(server.port, "POST", "/devices", { body: { ...application, platform: "test" } });
    const token: string = device.body.result.accessToken;
    const user = await send(server.port, "POST", "/users", { token, body: { username: "ann", password: "password" } });
    const userToken: string = user.body.result.accessToken;
    for (const { status } of await callAll(server, "GET", "/users/me", { token: userToken })) assert.equal(status, 200);
    await waitUntil(() => answeredBy(server).length === 2);
    assert.deepEqual(answeredBy(server), [1, 2]);

    assert.equal((await send(server.port, "POST", "/users/me/logout", { token: userToken })).status, 200);
    for (const answer of await callAll(server, "GET", "/users/me", { token: userToken })) {
      assertError(answer, 401, "AuthAccessTokenInvalid", 261, "Incorrect token type.");
    }
    assert.equal(await server.end("SIGTERM"), 0);
    assert.equal(server.output().match(/"msg":"stopped"/g)?.length, 2);
  });

  it("a killed worker is replaced while the other one serves", async () => {
    const server = await startWorkers();
    const [victim = 0, other] = workersOf(server);
    process.kill(victim, "SIGKILL");
    await waitUntil(() => workersOf(server).length === 2 && !workersOf(server).includes(victim));
    await waitUntil(() => (server.output().match(listeningPattern)?.length ?? 0) === 3);
    assert.ok(workersOf(server).includes(other ?? 0));
    for (const { status } of await callAll(server, "GET", "/service/ping")) assert.equal(status, 200);
    assert.match(server.output(), /"signal":"SIGKILL","restart_ms":\d+,"msg":"a worker exited and will be restarted"/);
    assert.equal(await server.end("SIGTERM"), 0);
  });

  it("workers exit with a killed supervisor", async () => {
    const server = await startWorkers();
    const workers = workersOf(server);
    await server.end("SIGKILL");
    await waitUntil(() => workers.every((pid) => !isRunning(pid)));
  });

  it("a worker that cannot start stops the server with the reason", async () => {
    const blocker = createServer().listen(0, "127.0.0.1");
    await once(blocker, "listening");
    const { port } = blocker.address() as AddressInfo; // a TCP listener has an address object
    const taken = await runProgram("src/main.ts", [], { ...settings, PORT: `${port}` });
    blocker.close();
    assert.equal(taken.code, 1);
    assert.match(taken.stderr, new RegExp(`PORT: 127\\.0\\.0\\.1:${port} is in use`));

    const unreachable = { ...settings, DATABASE_URL: "postgres://127.0.0.1:1/nowhere", DATABASE_TIMEOUT_MS: "300" };
    const failed = await runProgram("src/main.ts", [], unreachable);
    assert.equal(failed.code, 1);
    assert.equal(failed.stderr.match(/ECONNREFUSED/g)?.length, 1);
  });

  it("a second server on the port of the first one is refused", async () => {
    const server = await startWorkers();
    const { code, stderr } = await runProgram("src/main.ts", [], { ...settings, PORT: `${server.port}` });
    assert.equal(code, 1);
    assert.match(stderr, /PORT: .* is in use/);
    await server.end("SIGTERM");
  });
});

// spec/deployment#shutdown
describe("SIGTERM under load", () => {
  for (const workers of ["1", "2"]) {
    it(`no connection is reset: each client is asked to close its own (WORKERS=${workers})`, async () => {
      const server = workers === "1" ? await startProgram({ ...settings, WORKERS: workers }) : await startWorkers();
      const seen = new Set<string>();
      let answered = 0;
      const clients = Array.from({ length: 16 }, async () => {
        const agent = new Agent({ keepAlive: true, maxSockets: 1 });
        for (let isOpen = true; isOpen; answered += 1) {
          const outcome = await ping(server.port, agent);
          isOpen = outcome === "200 keep-alive";
          seen.add(outcome);
        }
      });
      await waitUntil(() => answered > 200);
      assert.equal(await server.end("SIGTERM"), 0);
      await Promise.all(clients);
      assert.deepEqual([...seen].sort(), ["200 keep-alive", "503 close"]);
    });
  }
});

/** Returns the status and whether the connection closed, or why there is no response. */
function ping(port: number, agent: Agent): Promise<string> {
  return new Promise((resolve) => {
    const request = get({ port, path: "/service/ping", agent }, (response) => {
      response.resume();
      response.on("end", () => resolve(`${response.statusCode} ${response.headers.connection}`));
    });
    request.on("error", (error: NodeJS.ErrnoException) => resolve(`${error.code}`));
  });
}

describe("IPC requests between workers", () => {
  it("collect the answers that arrive in time, and none from workers that fail or die", {
    timeout: 30_000,
  }, async (t) => {
    const program = join(import.meta.dirname, "asking-program.ts");
    const child = spawn(process.execPath, [program], { stdio: ["ignore", "pipe", "inherit"] });
    t.after(() => child.kill("SIGKILL"));
    const exited = once(child, "exit");
    const [line] = await once(child.stdout.setEncoding("utf8"), "data");
    const { patient, hasty, some, echoed, failing, unhandled, living } = JSON.parse(line);
    const numbers = (answers: readonly { number: number }[]) => answers.map(({ number }) => number).sort();
    assert.deepEqual(numbers(patient), [1, 2, 3]);
    assert.deepEqual(numbers(hasty), [1, 2]);
    assert.deepEqual(numbers(living), [2, 3]); // of a request with a timeout of ten minutes
    assert.deepEqual(echoed, ["an argument", "an argument", "an argument"]);
    assert.deepEqual([some, failing, unhandled], [[true, true], [], []]);
    child.kill("SIGTERM");
    assert.deepEqual(await exited, [0, null]);
  });
});

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
