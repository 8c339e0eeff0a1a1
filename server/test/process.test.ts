import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, afterEach, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { buildApp } from "../src/app.ts";
import { insertApplication } from "../src/applications/applications.store.ts";
import { loadConfig } from "../src/config.ts";
import { openDatabase } from "../src/db/open.ts";
import { createClock } from "../src/lib/clock.ts";
import { createIdGenerator } from "../src/lib/ids.ts";
import { maintain } from "../src/maintenance.ts";
import { copyTestDatabase } from "./databases.ts";
import { openRaw, runProgram, send } from "./harness.ts";
import { noEnvFile, serverEnvironment, spawnProgram } from "./running-server.ts";
import { bytesHeaders, metadataOf, tusHeaders } from "./tus.ts";
import { dataPart, formHeaders, formOf, png } from "./uploads.ts";

/** A process of `node server/src/main.ts`. */

let folder: string;
let folders = 0;
const running = new Set<ChildProcess>();
const drops: (() => Promise<void>)[] = [];
before(() => {
  folder = mkdtempSync(join(tmpdir(), "rollcall-test-"));
});
afterEach(async () => {
  for (const child of running) child.kill("SIGKILL");
});
after(async () => {
  for (const drop of drops) await drop();
  rmSync(folder, { recursive: true, force: true });
});

type Settings = Readonly<Record<string, string>>;
const cheapHashing = { PASSWORD_HASH_MEMORY_KIB: "8", PASSWORD_HASH_PASSES: "1" };
const slowHashing = { PASSWORD_HASH_MEMORY_KIB: "19456", PASSWORD_HASH_PASSES: "12", PASSWORD_HASH_THREADS: "1" };

/** A DATA_DIR that does not exist yet. */
function newFolder(): string {
  folders += 1;
  return join(folder, `${folders}`);
}

/** The settings of a new deployment on the engine under test, and an application of it. */
async function newDeployment(): Promise<{ settings: Settings; appid: string; appkey: string }> {
  const dataDir = newFolder();
  const { url, drop } = await copyTestDatabase(dataDir);
  drops.push(drop);
  const settings = { DATA_DIR: dataDir, DATABASE_URL: url, ROLLCALL_SECRET: "a secret for tests", ...cheapHashing };
  const database = await openDatabase(url, { connectionsMax: 2, timeoutMs: 5_000 });
  const [clock, ids] = [createClock(), createIdGenerator(Date.now)];
  const application = await database.write(({ queries }) => insertApplication("Test", { clock, ids }, queries));
  await database.close();
  return { settings, ...application };
}

interface RunningServer {
  readonly port: number;
  readonly child: ChildProcess;
  stdout(): string;
  /** Sends the signal and waits for the exit. */
  end(signal: NodeJS.Signals): Promise<{ code: number | null; ms: number }>;
}

/** Starts a server on a free port and waits until it listens. */
async function start(settings: Settings): Promise<RunningServer> {
  const env = { ...serverEnvironment, PORT: "0", ...settings };
  const main = join(import.meta.dirname, "../src/main.ts");
  const child = spawn(process.execPath, [main], { cwd: noEnvFile, env, stdio: ["ignore", "pipe", "pipe"] });
  running.add(child);
  const exited = once(child, "exit").finally(() => running.delete(child));
  let [stdout, stderr] = ["", ""];
  child.stderr.setEncoding("utf8").on("data", (text) => {
    stderr += text;
  });
  const port = await new Promise<number>((resolve, reject) => {
    exited.then(() => reject(new Error(`the server exited before it listened: ${stderr}`)));
    child.stdout.setEncoding("utf8").on("data", (text) => {
      stdout += text;
      const listening = /"url":"http:\/\/127\.0\.0\.1:(\d+)"/.exec(stdout)?.[1];
      if (listening !== undefined) resolve(Number(listening));
    });
  });
  return {
    port,
    child,
    stdout: () => stdout,
    async end(signal) {
      const startedAt = performance.now();
      child.kill(signal);
      const [code] = await exited;
      return { code, ms: performance.now() - startedAt };
    },
  };
}

function post(port: number, path: string, body: unknown, token?: string) {
  return send(port, "POST", path, { body, ...(token !== undefined && { token }) });
}

/** Registers a device and signs up a user; returns the tokens. */
async function signUp(port: number, application: { appid: string; appkey: string }) {
  const device = await post(port, "/devices", { ...application, platform: "test" });
  const deviceToken: string = device.body.result.accessToken;
  const user = await post(port, "/users", { username: "user", password: "password" }, deviceToken);
  return { deviceToken, token: user.body.result.accessToken as string };
}

/** The maintenance that a server does every minute, five minutes from now. */
async function maintainOnce(settings: Settings): Promise<void> {
  const app = await buildApp(loadConfig({ ...settings, LOG_LEVEL: "silent" }), {
    clock: { now: () => Date.now() + 300_000 },
  });
  await maintain(app);
  await app.close(0);
}

async function waitUntil(isSo: () => boolean, withinMs = 60_000): Promise<void> {
  const deadline = Date.now() + withinMs;
  while (!isSo()) {
    assert.ok(Date.now() < deadline, "the condition did not become true in time");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** The child processes of a process, as Linux lists them. */
function childrenOf(pid: number | undefined): string[] {
  const processes = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return processes.filter((name) => {
    try {
      const [, rest = ""] = readFileSync(`/proc/${name}/stat`, "utf8").split(") ");
      return rest.split(" ")[1] === String(pid);
    } catch {
      return false; // it has just exited
    }
  });
}

const demoPattern = /appid {3}(app_\w+)\n {2}appkey {2}(\S+)\n/g;
const ownerPattern = / {2}name {6}owner\n {2}password {2}(\S+)\n/g;
const signInPattern = /curl -s http:\/\/127\.0\.0\.1:\d+(\/_\/api\/sessions) -H '([^']+)' -d '([^']+)'/;
const operatorPattern = /^ {2}(TOKEN=.+\n {2}curl -s \S+\/_\/api\/applications -H "Authorization: Service \$TOKEN")$/m;
const curlPattern = /curl -s http:\/\/127\.0\.0\.1:\d+(\S+) -H 'Content-Type: application\/json' -d '([^']+)'/;

describe("the first start on an empty DATA_DIR", () => {
  it("prints the credentials of a demo application and of an operator once, with working calls; later starts print none", async () => {
    const settings = { DATA_DIR: newFolder(), ...cheapHashing };
    const first = await start(settings);
    await waitUntil(() => operatorPattern.test(first.stdout()));
    assert.equal(first.stdout().match(demoPattern)?.length, 1);
    const [, path = "", body = ""] = curlPattern.exec(first.stdout()) ?? [];
    const answer = await post(first.port, path, body);
    assert.equal(answer.status, 201);
    assert.equal(first.stdout().match(ownerPattern)?.length, 1);
    const [, script = ""] = operatorPattern.exec(first.stdout()) ?? [];
    const printed = await promisify(execFile)("sh", ["-c", script]);
    const applications = { body: JSON.parse(printed.stdout) };
    assert.deepEqual(
      applications.body.result.pageResults.map(({ name }: { name: string }) => name),
      ["Demo"],
    );
    assert.equal((await first.end("SIGTERM")).code, 0);

    const second = await start(settings);
    assert.equal((await post(second.port, path, body)).status, 201);
    const token: string = answer.body.result.accessToken; // issued by the first process
    const created = await post(second.port, "/users", { username: "a", password: "password" }, token);
    assert.equal(created.status, 200);
    assert.equal((await second.end("SIGTERM")).code, 0);
    assert.doesNotMatch(second.stdout(), /appid|appkey|rk_|ro_|password/);
  });

  it("protects its data: the secret has mode 0600, the folder 0700, and the secret is not printed", async () => {
    const dataDir = newFolder();
    const server = await start({ DATA_DIR: dataDir });
    const mode = (...path: string[]) => (statSync(join(dataDir, ...path)).mode & 0o777).toString(8);
    assert.deepEqual(
      [mode("secret"), mode("rollcall.db"), mode("rollcall.db-wal"), mode()],
      ["600", "600", "600", "700"],
    );
    await server.end("SIGTERM");
    const secret = readFileSync(join(dataDir, "secret"), "utf8").trim();
    assert.match(secret, /^[0-9a-f]{64}$/);
    assert.ok(!server.stdout().includes(secret));
  });

  it("creates one demo application and one secret for two processes at once, and both serve (hostile.md 36)", async () => {
    const settings = { DATA_DIR: newFolder(), ...cheapHashing };
    const [a, b] = await Promise.all([start(settings), start(settings)]);
    await waitUntil(() => curlPattern.test(a.stdout() + b.stdout()));
    const demos = [...(a.stdout() + b.stdout()).matchAll(demoPattern)];
    assert.equal(demos.length, 1);
    assert.equal((a.stdout() + b.stdout()).match(ownerPattern)?.length, 1);
    const [, appid = "", appkey = ""] = demos[0] ?? [];
    const { token } = await signUp(a.port, { appid, appkey });
    for (const { port } of [a, b]) assert.equal((await send(port, "GET", "/users/me", { token })).status, 200);
    const ends = await Promise.all([a.end("SIGTERM"), b.end("SIGTERM")]);
    assert.deepEqual(
      ends.map(({ code }) => code),
      [0, 0],
    );
  });

  it("fails on a port in use with a clear error and a non-zero exit code, and leaves the demo application to a successful start", async () => {
    const blocker = createServer().listen(0, "127.0.0.1");
    await once(blocker, "listening");
    const { port } = blocker.address() as AddressInfo; // listens on TCP
    const settings = { DATA_DIR: newFolder() };
    const { code, stdout, stderr } = await runProgram("src/main.ts", [], { ...settings, PORT: `${port}` });
    blocker.close();
    assert.equal(code, 1);
    assert.match(stderr, new RegExp(`^PORT: 127\\.0\\.0\\.1:${port} is in use`));
    assert.doesNotMatch(stderr, /\n\s+at /);

    const server = await start(settings);
    await server.end("SIGTERM");
    assert.equal(stdout, "");
    assert.equal(server.stdout().match(demoPattern)?.length, 1);
    assert.equal(server.stdout().match(ownerPattern)?.length, 1);
  });
});

// spec/operators#first-owner
describe("a start on a deployment without operators", () => {
  it("creates exactly one owner on either engine, also if several processes start at once", async () => {
    const { settings } = await newDeployment();
    const servers = await Promise.all([start(settings), start(settings)]);
    const stdout = () => servers.map((server) => server.stdout()).join("");
    await waitUntil(() => signInPattern.test(stdout()));
    assert.equal(stdout().match(ownerPattern)?.length, 1);
    assert.doesNotMatch(stdout(), demoPattern);
    const [, path = "", , body = ""] = signInPattern.exec(stdout()) ?? [];
    for (const { port } of servers) assert.equal((await send(port, "POST", path, { body })).status, 201);
    for (const server of servers) assert.equal((await server.end("SIGTERM")).code, 0);
    const third = await start(settings);
    await third.end("SIGTERM");
    assert.doesNotMatch(third.stdout(), /password/);
  });
});

describe("a first start whose output goes into a file", () => {
  it("creates an owner who must first set another password, and prints how", async () => {
    const { settings } = await newDeployment();
    const file = join(newFolder(), "out.log");
    mkdirSync(dirname(file), { recursive: true });
    const output = openSync(file, "a");
    const { child, exited } = spawnProgram(settings, { stdout: output });
    running.add(child);
    const said = () => readFileSync(file, "utf8");
    const portPattern = /"url":"http:\/\/127\.0\.0\.1:(\d+)"/;
    // The log is flushed after a tenth of a second, the instructions at once.
    await waitUntil(() => said().includes("YOUR NEW PASSWORD") && portPattern.test(said()));
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
  });
});

describe("wrong settings", () => {
  it("are all reported, without a stack, and the exit code is 1", async () => {
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

  it("an unreachable database ends the start with the reason", async () => {
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

describe("SIGTERM (hostile.md 34)", () => {
  it("finishes requests in progress, refuses new ones, closes idle connections, and exits with 0", async () => {
    const { settings, ...application } = await newDeployment();
    const server = await start({ ...settings, ...slowHashing });
    const { deviceToken } = await signUp(server.port, application);
    const idle = openRaw(server.port);
    idle.write("GET /service/ping HTTP/1.1\r\nHost: a\r\n\r\n");
    assert.equal((await idle.receive())?.status, 200);

    const body = { username: "user", password: "password" };
    const logins = [1, 2, 3].map(() => post(server.port, "/users/login", body, deviceToken));
    assert.equal((await send(server.port, "GET", "/service/ping")).status, 200); // the server has received the logins
    const ended = server.end("SIGTERM");
    let isRefused = false;
    while (!isRefused) {
      try {
        const { status, headers, body } = await send(server.port, "GET", "/service/ping");
        if (status === 200) continue; // the signal has not arrived yet
        assert.deepEqual([status, body.error, headers["connection"]], [503, "ServiceUnavailable", "close"]);
        isRefused = true;
      } catch (error) {
        assert.ok(["ECONNREFUSED", "ECONNRESET"].includes(`${(error as NodeJS.ErrnoException).code}`));
        isRefused = true;
      }
    }
    for (const { status, body } of await Promise.all(logins)) assert.equal(status, 200, JSON.stringify(body));
    assert.equal(await idle.receive(), undefined);
    const { code, ms } = await ended;
    assert.equal(code, 0);
    assert.ok(ms < 10_000, `${ms} ms`);
  });

  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    it(`${signal} repeated, as by npm and a terminal together, cuts off no request`, async () => {
      const { settings, ...application } = await newDeployment();
      const server = await start({ ...settings, ...slowHashing });
      const { deviceToken } = await signUp(server.port, application);
      const body = { username: "user", password: "password" };
      const logins = Promise.allSettled([1, 2, 3].map(() => post(server.port, "/users/login", body, deviceToken)));
      await send(server.port, "GET", "/service/ping"); // the server has received the logins
      const ended = server.end(signal);
      while ((await send(server.port, "GET", "/service/ping")).status === 200); // the signal has not arrived yet
      server.child.kill(signal);
      assert.equal((await ended).code, 0);
      assert.deepEqual(
        (await logins).map((login) => login.status === "fulfilled" && login.value.status),
        [200, 200, 200],
      );
    });
  }

  it("cuts off requests after the grace period, and exits with 0", async () => {
    const { settings, ...application } = await newDeployment();
    const server = await start({ ...settings, ...slowHashing, SHUTDOWN_GRACE_MS: "50" });
    const { deviceToken } = await signUp(server.port, application);
    const half = openRaw(server.port);
    half.write("POST /devices HTTP/1.1\r\nHost: a\r\nContent-Length: 20\r\n\r\n{");
    const body = { username: "user", password: "password" };
    const logins = Array.from({ length: 10 }, () => post(server.port, "/users/login", body, deviceToken));
    const results = Promise.allSettled(logins);
    await send(server.port, "GET", "/service/ping"); // the server has received them all
    const { code, ms } = await server.end("SIGTERM");
    assert.equal(code, 0);
    assert.ok(ms < 5_000, `${ms} ms`);
    assert.equal(await half.receive(), undefined);
    assert.ok((await results).some(({ status }) => status === "rejected"));
  });
});

describe("kill -9 (hostile.md 31)", () => {
  it("every answered check-in is complete after the restart, and none is half-written", async () => {
    const { settings, ...application } = await newDeployment();
    const answered = new Map<string, string>();
    let sent = 0;
    let token: string | undefined;
    for (let kills = 0; ; kills += 1) {
      const server = await start(settings);
      token ??= (await signUp(server.port, application)).token;
      const stored = await readAll(server.port, token);
      for (const [id, comment] of answered) assert.equal(stored.get(id), comment, "an answered check-in is lost");
      assert.ok(stored.size <= sent);
      for (const comment of stored.values()) assert.match(comment, /^number \d+ x{500}$/);
      if (kills === 3) break;

      const goal = answered.size + 60;
      const clients = Array.from({ length: 8 }, async () => {
        for (;;) {
          sent += 1;
          const comment = `number ${sent} ${"x".repeat(500)}`;
          const checkin = post(server.port, "/checkins", { location: "1,2", comment }, token);
          const answer = await checkin.catch(() => undefined);
          if (answer?.status !== 201) return;
          answered.set(answer.body.result.id, comment);
        }
      });
      await waitUntil(() => answered.size >= goal);
      await server.end("SIGKILL");
      await Promise.all(clients);
    }
  });

  it("a resumable upload can be resumed after kills, also during its completion, and leaves no other objects behind", async () => {
    const { settings, ...application } = await newDeployment();
    const bytes = randomBytes(40_000_000);
    const path = (location: unknown) => new URL(`${location}`).pathname;
    let token = "";
    let upload = "";
    let acknowledged = 0;
    for (let kills = 0; ; kills += 1) {
      const server = await start(settings);
      if (kills === 0) {
        token = (await signUp(server.port, application)).token;
        const metadata = { "upload-length": `${bytes.length}`, "upload-metadata": metadataOf({ kind: "blob" }) };
        const created = await send(server.port, "POST", "/files/uploads", {
          token,
          headers: { ...tusHeaders, ...metadata },
        });
        upload = path(created.headers["location"]);
      }
      let head = await send(server.port, "HEAD", upload, { token, headers: tusHeaders });
      while (head.status === 503) {
        await new Promise((resolve) => setTimeout(resolve, 200)); // until the lease of the killed process expires
        head = await send(server.port, "HEAD", upload, { token, headers: tusHeaders });
      }
      assert.equal(head.status, 200);
      const offset = Number(head.headers["upload-offset"]);
      assert.ok(offset >= acknowledged, "bytes that were counted are lost");
      acknowledged = offset;
      if (offset === bytes.length) {
        const file = `${head.headers["content-location"]}`;
        const { result } = (await send(server.port, "GET", file, { token })).body;
        assert.equal(result.contentHash, createHash("sha256").update(bytes).digest("hex"));
        await server.end("SIGTERM");
        await maintainOnce(settings); // completes the work of the last killed process
        const folder = join(settings["DATA_DIR"] ?? "", "files", application.appid);
        assert.equal(readdirSync(folder, { recursive: true }).length, 2, "only the file and its folder");
        assert.ok(kills > 2);
        return;
      }
      // Two servers are killed while bytes arrive, the others during or after the last bytes.
      const headers = { ...bytesHeaders, "upload-offset": `${offset}` };
      const rest = bytes.subarray(offset, kills < 2 ? offset + 15_000_000 : bytes.length);
      const sending = send(server.port, "PATCH", upload, { token, headers, body: rest }).catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, kills < 2 ? 60 + 40 * kills : 250));
      await server.end("SIGKILL");
      await sending;
    }
  });

  it("every answered metric event is counted once, also if the kill interrupts its compaction", async () => {
    const { settings, ...application } = await newDeployment();
    const { stdout } = await runProgram("src/cli.ts", ["operators", "create", "--name", "op", "--json"], settings);
    const { name, password } = JSON.parse(stdout);
    const answered = new Map<string, number>();
    let sent = 0;
    let token: string | undefined;
    for (let kills = 0; ; kills += 1) {
      const server = await start(settings);
      token ??= (await signUp(server.port, application)).token;
      const signedIn = await post(server.port, "/_/api/sessions", { name, password });
      const operator: string = signedIn.body.result.token;
      const counts = new Map<string, number>();
      for (let query = "pageSize=1000"; query !== ""; ) {
        const path = `/_/api/applications/${application.appid}/metrics?${query}`;
        const { result } = (await send(server.port, "GET", path, { token: operator })).body;
        for (const { key, count } of result.pageResults) counts.set(key, count);
        query = result.nextToken === undefined ? "" : `pagingToken=${result.nextToken}`;
      }
      for (const [key, count] of answered) assert.equal(counts.get(key), count, `${key} after ${kills} kills`);
      for (const [key, count] of counts) assert.equal(count, key.startsWith("one") ? 1 : 1_000);
      if (kills === 3) break;

      const goal = answered.size + 60;
      const clients = Array.from({ length: 8 }, async (_, client) => {
        for (;;) {
          sent += 1;
          const isOne = client === 0;
          const key = `${isOne ? "one" : "many"}-${sent}`;
          const events = Array.from({ length: 1_000 }, (_, n) => ({ key, value: n }));
          const path = isOne ? `/metrics/events/${key}` : "/metrics/events";
          const answer = await post(server.port, path, isOne ? {} : { events }, token).catch(() => undefined);
          if (answer?.status !== 201) return;
          answered.set(key, isOne ? 1 : 1_000);
        }
      });
      await waitUntil(() => answered.size >= goal);
      await server.end("SIGKILL");
      await Promise.all(clients);
    }
  });
});

describe("kill -9 between a commit and its answer (spec/idempotency#stored-responses)", () => {
  it("a retry with the same idempotency key has one effect, and gets the stored response", async () => {
    const { settings, ...application } = await newDeployment();
    const replies = new Map<string, unknown>();
    const unanswered = new Set<string>();
    let token: string | undefined;
    let keys = 0;

    function checkIn(port: number, key: string) {
      const headers = { "idempotency-key": key };
      const body = { location: "1,2", comment: key };
      return send(port, "POST", "/checkins", { body, headers, ...(token !== undefined && { token }) });
    }

    for (let kills = 0; ; kills += 1) {
      const server = await start(settings);
      token ??= (await signUp(server.port, application)).token;
      for (const key of unanswered) {
        const { status, body } = await checkIn(server.port, key);
        assert.equal(status, 201);
        replies.set(key, body.result);
      }
      unanswered.clear();
      for (const [key, result] of [...replies].slice(-50)) {
        const { body, headers } = await checkIn(server.port, key);
        assert.deepEqual([body.result, headers["idempotent-replayed"]], [result, "true"]);
      }
      if (kills === 4) {
        const stored = await readAll(server.port, token);
        assert.equal(stored.size, keys, "every key once");
        assert.deepEqual(new Set(stored.values()), new Set(replies.keys()));
        break;
      }
      const goal = replies.size + 30 + kills;
      const clients = Array.from({ length: 8 }, async () => {
        for (;;) {
          keys += 1;
          const key = `key ${keys}`;
          unanswered.add(key);
          const answer = await checkIn(server.port, key).catch(() => undefined);
          if (answer?.status !== 201) return;
          replies.set(key, answer.body.result);
          unanswered.delete(key);
        }
      });
      await waitUntil(() => replies.size >= goal);
      await server.end("SIGKILL");
      await Promise.all(clients);
    }
  });
});

describe("two processes on one database", () => {
  it("concurrent increments add up, and those answered before a kill -9 persist (hostile.md 31)", async () => {
    const { settings, ...application } = await newDeployment();
    const [server, other] = await Promise.all([start(settings), start(settings)]);
    const { token } = await signUp(server.port, application);
    const answered = new Set<number>();
    let sent = 0;
    async function increment(port: number): Promise<boolean> {
      sent += 1;
      const answer = await post(port, "/metadata/app/n/increment", {}, token).catch(() => undefined);
      if (answer?.status !== 200) return false;
      assert.ok(!answered.has(answer.body.result.value), "two increments had the same result");
      answered.add(answer.body.result.value);
      return true;
    }
    let isEnding = false;
    const clients = [server, other, server, other, server, other].map(async ({ port }) => {
      while (!isEnding && (await increment(port))); // until its server is killed, or the test ends
    });
    await waitUntil(() => answered.size >= 150);
    await other.end("SIGKILL");
    const before = answered.size;
    await waitUntil(() => answered.size >= before + 50);
    isEnding = true;
    await Promise.all(clients);
    const last = await post(server.port, "/metadata/app/n/increment", { delta: 0 }, token);
    const { value } = last.body.result;
    assert.ok(value >= answered.size && value <= sent, `${answered.size} answered, ${value}, ${sent} sent`);
    for (const each of answered) assert.ok(each >= 1 && each <= value);
  });
});

/** All check-ins of the user: id to comment. */
async function readAll(port: number, token: string): Promise<Map<string, string>> {
  const all = new Map<string, string>();
  let query = "pageSize=1000";
  for (;;) {
    const { result } = (await send(port, "GET", `/checkins?${query}`, { token })).body;
    for (const { id, comment } of result.pageResults) all.set(id, comment);
    if (result.nextToken === undefined) return all;
    query = `pagingToken=${result.nextToken}`;
  }
}

describe("the process that decodes pictures", { skip: process.platform !== "linux" }, () => {
  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    it(`exits with the server, also while it decodes a picture: ${signal}`, async () => {
      const { settings, appid, appkey } = await newDeployment();
      const { port, child, end } = await start({ ...settings, SHUTDOWN_GRACE_MS: "200" });
      const { token } = await signUp(port, { appid, appkey });
      assert.deepEqual(childrenOf(child.pid), []);
      const body = formOf([dataPart(await png(6_000, 6_000))]);
      const answer = await send(port, "POST", "/pictures", { token, body, headers: formHeaders });
      assert.equal(answer.status, 201);
      const [decoder] = childrenOf(child.pid);
      assert.ok(decoder !== undefined);
      const path = `/pictures/${answer.body.result.id}/file?size=5999`; // takes a second or more
      const read = send(port, "GET", path, { token }).catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, 100));
      await end(signal);
      await read;
      await waitUntil(() => !existsSync(`/proc/${decoder}`));
    });
  }
});
