import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, describe, it } from "node:test";
import { buildApp } from "../src/app/app.ts";
import { maintain } from "../src/app/maintenance.ts";
import { loadConfig } from "../src/config/config.ts";
import { createTestApplication, createTestDeployment, signUpAt } from "./deployments.ts";
import { openRaw, send } from "./harness.ts";
import { waitUntil } from "./mails.ts";
import { killRunningServers, runProgram, startProgram } from "./running-server.ts";
import { bytesHeaders, metadataOf, tusHeaders } from "./tus.ts";

/** A process of `rollcall serve`. */

const removals: (() => Promise<void>)[] = [];
afterEach(killRunningServers);
after(async () => {
  for (const remove of removals) await remove();
});

type Settings = Readonly<Record<string, string>>;
/** The grace period allows for a busy machine. */
const slowHashing = {
  PASSWORD_HASH_MEMORY_KIB: "19456",
  PASSWORD_HASH_PASSES: "12",
  PASSWORD_HASH_THREADS: "1",
  SHUTDOWN_GRACE_MS: "60000",
};

/** The settings of a new deployment on the engine under test, and an application of it. */
async function newDeployment(): Promise<{ settings: Settings; appid: string; appkey: string }> {
  const { settings, remove } = await createTestDeployment();
  removals.push(remove);
  return { settings: { ...settings, PASSWORD_HASH_PASSES: "1" }, ...(await createTestApplication(settings)) };
}

function post(port: number, path: string, body: unknown, token?: string) {
  return send(port, "POST", path, { body, ...(token !== undefined && { token }) });
}

/** Runs the maintenance that a server does every minute, five minutes from now. */
async function maintainOnce(settings: Settings): Promise<void> {
  const app = await buildApp(loadConfig({ ...settings, LOG_LEVEL: "silent" }), {
    clock: { now: () => Date.now() + 300_000 },
  });
  await maintain(app);
  await app.close(0);
}

describe("SIGTERM (hostile.md 34)", () => {
  it("finishes requests in progress, refuses new ones, closes idle connections, and exits with 0", async () => {
    const { settings, ...application } = await newDeployment();
    const server = await startProgram({ ...settings, ...slowHashing });
    const { deviceToken } = await signUpAt(server.port, application);
    const idle = openRaw(server.port);
    idle.write("GET /service/ping HTTP/1.1\r\nHost: a\r\n\r\n");
    assert.equal((await idle.receive())?.status, 200);

    const body = { username: "user", password: "password" };
    const logins = [1, 2, 3].map(() => post(server.port, "/users/login", body, deviceToken));
    assert.equal((await send(server.port, "GET", "/service/ping")).status, 200); // the server has received the logins
    const signalledAt = performance.now();
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
    assert.equal(await ended, 0);
    assert.ok(performance.now() - signalledAt < 60_000, "it waited for the end of the grace period");
  });

  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    it(`${signal} repeated, as by npm and a terminal together, aborts no request`, async () => {
      const { settings, ...application } = await newDeployment();
      const server = await startProgram({ ...settings, ...slowHashing });
      const { deviceToken } = await signUpAt(server.port, application);
      const body = { username: "user", password: "password" };
      const logins = Promise.allSettled([1, 2, 3].map(() => post(server.port, "/users/login", body, deviceToken)));
      await send(server.port, "GET", "/service/ping"); // the server has received the logins
      const ended = server.end(signal);
      while ((await send(server.port, "GET", "/service/ping")).status === 200); // the signal has not arrived yet
      process.kill(server.pid, signal);
      assert.equal(await ended, 0);
      assert.deepEqual(
        (await logins).map((login) => login.status === "fulfilled" && login.value.status),
        [200, 200, 200],
      );
    });
  }

  it("aborts requests after the grace period, and exits with 0", async () => {
    const { settings, ...application } = await newDeployment();
    const server = await startProgram({ ...settings, ...slowHashing, SHUTDOWN_GRACE_MS: "50" });
    const { deviceToken } = await signUpAt(server.port, application);
    const half = openRaw(server.port);
    half.write("POST /devices HTTP/1.1\r\nHost: a\r\nContent-Length: 20\r\n\r\n{");
    const body = { username: "user", password: "password" };
    const logins = Array.from({ length: 10 }, () => post(server.port, "/users/login", body, deviceToken));
    const results = Promise.allSettled(logins);
    await send(server.port, "GET", "/service/ping"); // the server has received them all
    assert.equal(await server.end("SIGTERM"), 0);
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
      const server = await startProgram(settings);
      token ??= (await signUpAt(server.port, application)).token;
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
      await waitUntil(() => answered.size >= goal, "the writes");
      await server.end("SIGKILL");
      await Promise.all(clients);
    }
  });

  it("a resumable upload can be resumed after kills, also during its completion, and no other object remains", async () => {
    const { settings, ...application } = await newDeployment();
    const bytes = randomBytes(40_000_000);
    const path = (location: unknown) => new URL(`${location}`).pathname;
    let token = "";
    let upload = "";
    let acknowledged = 0;
    for (let kills = 0; ; kills += 1) {
      const server = await startProgram(settings);
      if (kills === 0) {
        token = (await signUpAt(server.port, application)).token;
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
      // Two servers are killed while bytes arrive, the others during or after the last bytes. Each gets more time than the
      // one before, so that a slow machine completes the upload, too.
      const headers = { ...bytesHeaders, "upload-offset": `${offset}` };
      const rest = bytes.subarray(offset, kills < 2 ? offset + 15_000_000 : bytes.length);
      const sending = send(server.port, "PATCH", upload, { token, headers, body: rest }).catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, kills < 2 ? 60 + 40 * kills : 250 * (kills - 1)));
      await server.end("SIGKILL");
      await sending;
    }
  });

  it("every answered metric event is counted once, also if the kill interrupts its compaction", async () => {
    const { settings, ...application } = await newDeployment();
    const { stdout } = await runProgram("src/cli/cli.ts", ["operators", "create", "--name", "op", "--json"], settings);
    const { name, password } = JSON.parse(stdout);
    const answered = new Map<string, number>();
    let sent = 0;
    let token: string | undefined;
    for (let kills = 0; ; kills += 1) {
      const server = await startProgram(settings);
      token ??= (await signUpAt(server.port, application)).token;
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
      await waitUntil(() => answered.size >= goal, "the writes");
      await server.end("SIGKILL");
      await Promise.all(clients);
    }
  });
});

describe("kill -9 between a commit and its answer (spec/idempotency#stored-responses)", () => {
  it("a retry with the same idempotency key has one effect, and receives the stored response", async () => {
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
      const server = await startProgram(settings);
      token ??= (await signUpAt(server.port, application)).token;
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
      await waitUntil(() => replies.size >= goal, "the writes");
      await server.end("SIGKILL");
      await Promise.all(clients);
    }
  });
});

describe("two processes on one database", () => {
  it("concurrent increments add up, and those answered before a kill -9 persist (hostile.md 31)", async () => {
    const { settings, ...application } = await newDeployment();
    const [server, other] = await Promise.all([startProgram(settings), startProgram(settings)]);
    const { token } = await signUpAt(server.port, application);
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
      while (!isEnding && (await increment(port))); // until its server is killed, or the test is over
    });
    await waitUntil(() => answered.size >= 150, "the increments");
    await other.end("SIGKILL");
    const before = answered.size;
    await waitUntil(() => answered.size >= before + 50, "the increments");
    isEnding = true;
    await Promise.all(clients);
    const last = await post(server.port, "/metadata/app/n/increment", { delta: 0 }, token);
    const { value } = last.body.result;
    assert.ok(value >= answered.size && value <= sent, `${answered.size} answered, ${value}, ${sent} sent`);
    for (const each of answered) assert.ok(each >= 1 && each <= value);
  });
});

/** Returns all check-ins of the user: id to comment. */
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
