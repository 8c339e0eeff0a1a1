import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { after, afterEach, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import { findFreePort } from "../../../testkit/free-port.ts";
import { openStream, type TestStream } from "../../test/event-streams.ts";
import { startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";
import { rounds } from "../../test/rounds.ts";
import { passSteadyTime } from "../../test/steady-clock.ts";
import { createEventLog } from "../event-log/event-log.ts";

let test: TestApp;
let ann: TestUser;
const open = new Set<TestStream>();
before(async () => {
  test = await startTestApp({ RATE_LIMITS: "off", STREAM_HEARTBEAT_MS: "500" });
  ann = await test.signUp("Ann");
});
after(() => test.close());
afterEach(() => {
  for (const stream of open) stream.cut();
  open.clear();
});

type Listening = Pick<TestUser, "token">;

async function listen({ token }: Listening, query = "", lastId?: string, port = test.port): Promise<TestStream> {
  const headers: Record<string, string> = lastId === undefined ? {} : { "last-event-id": lastId };
  const stream = await openStream(port, `/events/stream${query}`, { token, headers });
  open.add(stream);
  return stream;
}

async function listenFromNow(user: Listening, query = "", port?: number): Promise<TestStream> {
  const stream = await listen(user, query, undefined, port);
  assert.equal((await stream.next()).event, "ready");
  return stream;
}

async function call(operation: string, body?: object, token = ann.token) {
  const answer = await test.call(operation, { token, ...(body && { body }) });
  assert.ok(answer.status < 300, JSON.stringify(answer.body));
  return answer.body.result;
}

const checkIn = (tag: string, token?: string) =>
  call("POST /checkins", { location: "1,2", readPermissions: "App", tag }, token);

async function until(isReached: () => boolean): Promise<void> {
  while (!isReached()) await sleep(20);
}

/** Opens a stream at a cursor, and returns the message after its `ready`. */
async function firstAfterReady(user: TestUser, lastId: string) {
  const stream = await listen(user, "", lastId);
  const ready = await stream.next();
  return { isResumed: ready.data.isResumed, next: stream.next };
}

describe("cursors of a stream: E5, hostile.md 47, spec/streams#reset-a-stream", () => {
  async function createReader(name: string) {
    const application = await test.createApplication(name);
    const user = await test.signUp(name, application);
    const stream = await listenFromNow(user);
    await checkIn("1", user.token);
    await stream.next();
    return { appid: application.appid, user, cursor: `${stream.lastId}` };
  }

  it("an altered cursor, or one of another application, causes a reset", async () => {
    const { user, cursor } = await createReader("Asking");
    const other = await createReader("Other");
    const altered = `${cursor.slice(0, -1)}${cursor.endsWith("A") ? "B" : "A"}`;
    for (const wrong of [other.cursor, altered]) {
      const { isResumed, next } = await firstAfterReady(user, wrong);
      assert.equal(isResumed, false);
      const reset = await next();
      assert.deepEqual([reset.event, reset.data], ["reset", { reason: "cursor" }]);
      const refused = await test.call(`GET /events/stream?after=${wrong}`, { token: user.token });
      assert.equal(refused.body.error, "ParameterIncorrectFormat");
    }
  });

  it("a cursor that is older than the log causes a reset as expired", async () => {
    const { appid, user, cursor } = await createReader("Ancient");
    for (let n = 0; n < 4; n += 1) await checkIn(`${n}`, user.token);
    const small = createEventLog(
      { databaseTimeoutMs: 10_000, eventsRowsMax: 1, eventsBacklogMax: 1_000 },
      { ...test.app, secrets: ["a secret"] },
    );
    await small.maintain(appid); // assigns positions; the next run deletes the oldest events
    await small.maintain(appid);
    const { isResumed, next } = await firstAfterReady(user, cursor);
    assert.equal(isResumed, false);
    assert.deepEqual((await next()).data, { reason: "expired" });
  });

  it("a cursor from before a manual restore of the database causes a reset as from another log", async () => {
    const { appid, user } = await createReader("Put back");
    await checkIn("2", user.token);
    const { currentToken } = await call("GET /events", undefined, user.token);
    await test.app.database.write(({ queries }) =>
      queries.deleteFrom("events").where("application_id", "=", appid).where("position", ">", 1).execute(),
    );
    const beyond = await firstAfterReady(user, currentToken);
    assert.deepEqual([beyond.isResumed, (await beyond.next()).data], [false, { reason: "log" }]);
    for (const tag of ["3", "4", "5"]) await checkIn(tag, user.token);
    const other = await firstAfterReady(user, currentToken);
    assert.deepEqual([other.isResumed, (await other.next()).data], [false, { reason: "log" }]);
  });
});

describe("an event whose object cannot be read for an unexpected reason: spec/streams#reset-a-stream", () => {
  /** Records a change of a value, and renames its table, so that reads of the value fail. */
  async function breakReads(appid: string): Promise<void> {
    const event = { type: "metadata.changed", objectId: appid, key: "motd", slot: "" } as const;
    await test.app.database.write(async ({ queries }) => {
      await sql`alter table metadata rename to metadata_hidden`.execute(queries);
      await test.app.events.record(appid, event, queries);
    });
  }

  const repairReads = () =>
    test.app.database.write(({ queries }) => sql`alter table metadata_hidden rename to metadata`.execute(queries));

  it("arrives late if the failure is temporary", async () => {
    await call("PUT /metadata/app/motd", { value: "hello", visibility: "App" });
    const stream = await listenFromNow(ann);
    await breakReads(test.application.appid);
    await until(() => test.logLines.some(({ msg }) => msg === "streams could not be served"));
    await repairReads();
    assert.equal((await stream.next()).data.object.value, "hello");
  });

  it("is never skipped silently: its readers are reset, and continue after it", async () => {
    await call("PUT /metadata/app/motd", { value: "hello", visibility: "App" });
    const stream = await listenFromNow(ann);
    await breakReads(test.application.appid);
    const reset = await stream.next().finally(repairReads);
    assert.deepEqual([reset.event, reset.data], ["reset", { reason: "expired" }]);
    await checkIn("behind it");
    assert.equal((await stream.next()).data.object.tag, "behind it");
  });
});

describe("calls that wait for events: spec/streams#limits-of-streams", () => {
  it("release their slot when their clients disconnect", async () => {
    const user = await test.signUp();
    const { currentToken } = await call("GET /events", undefined, user.token);
    const { position } = test.app.eventLog.open(test.application.appid, currentToken) ?? assert.fail();
    const gone = new AbortController();
    const waiting = test.app.eventFollower.wait(test.application.appid, position, 600_000, gone.signal);
    gone.abort();
    await waiting;
    await test.app.eventFollower.wait(test.application.appid, position, 600_000, gone.signal);
    const path = `/events?types=checkin.*&userID=me&waitSeconds=25&after=${currentToken}`;
    for (let turn = 0; turn < 3; turn += 1) {
      const aborting = new AbortController();
      const calls = Array.from({ length: 10 }, () =>
        fetch(`${test.url}${path}`, {
          headers: { authorization: `Service ${user.token}` },
          signal: aborting.signal,
        }).catch(() => {}),
      );
      await until(() => test.app.streams.statistics().waiting === 10);
      aborting.abort();
      await Promise.all(calls);
      await until(() => test.app.streams.statistics().waiting === 0);
    }
  });

  it("count as streams of their device", async () => {
    const user = await test.signUp();
    const { currentToken } = await call("GET /events", undefined, user.token);
    for (let n = 0; n < 9; n += 1) await listenFromNow(user);
    const path = `GET /events?types=checkin.*&userID=me&waitSeconds=25&after=${currentToken}`;
    const waiting = test.call(path, { token: user.token });
    await until(() => test.app.streams.statistics().waiting === 1);
    const refused = await test.call("GET /events/stream", { token: user.token });
    assert.deepEqual([refused.status, refused.body.error], [429, "RateLimitExceeded"]);
    const second = await test.call(path, { token: user.token });
    assert.equal(second.status, 429);
    const seconds = Number(second.headers["retry-after"]);
    assert.ok(seconds >= 5 && seconds <= 60, `${seconds}`);
    const { status } = await test.call(path.replace("waitSeconds=25", "waitSeconds=0"), { token: user.token });
    assert.equal(status, 200, "a call that does not wait is no stream");
    await checkIn("found", user.token);
    assert.equal((await waiting).body.result.pageResults.length, 1);
    assert.equal(test.app.streams.statistics().waiting, 0);
  });
});

describe("revocations in another process while events flow: E6, hostile.md 52, spec/streams#revoked-tokens", () => {
  let other: TestApp;
  let third: TestApp;
  before(async () => {
    const settings = { DATABASE_URL: test.config.databaseUrl, RATE_LIMITS: "off" };
    [other, third] = [await startTestApp(settings), await startTestApp(settings)];
  });
  after(() => Promise.all([other.close(), third.close()]));

  interface Victim {
    readonly user: TestUser;
    readonly appid: string;
    /** The application key of the device. */
    readonly keyId: string;
  }

  const revocations: Readonly<Record<string, (victim: Victim, operator: string) => ReturnType<TestApp["call"]>>> = {
    "a logout": ({ user }) => other.call("POST /users/me/logout", { token: user.token }),
    "the deletion of the user": ({ user }) => other.call("DELETE /users/me", { token: user.token }),
    "the retirement of the device's key": ({ appid, keyId }, token) =>
      other.call(`POST /_/api/applications/${appid}/keys/${keyId}/retire`, { token, body: {} }),
  };
  const writersCount = 16;
  /** Per revocation: how much later the last stream closed than the slowest event arrived in that time. */
  const delays: number[] = [];

  for (const [name, revoke] of Object.entries(revocations)) {
    it(`after ${name} the streams of all processes end, and have sent nothing that was written later`, async () => {
      const processes = [test, other, third];
      const operator = await other.createOperator();
      const { appid } = test.application;
      const made = await other.call(`POST /_/api/applications/${appid}/keys`, { token: operator.token, body: {} });
      assert.equal(made.status, 201);
      const { id: keyId, appkey } = made.body.result;
      const user = await test.signUp(undefined, { ...test.application, appkey });
      const ticket = await call("POST /events/streams", { types: "checkin.*" }, user.token);
      const ids: string[] = [];
      for (let n = 0; n < writersCount; n += 1) ids.push((await checkIn("flow")).id);
      const listenAll = (listener: Listening) =>
        Promise.all(processes.map(({ port }) => listenFromNow(listener, "?types=checkin.*", port)));
      const [streams, bystanders] = [await listenAll(user), await listenAll(ann)];
      let comment = "before";
      let isOver = false;
      let slowestMs = 0;
      const writers = ids.map(async (id, index) => {
        const { call: send } = processes[index % processes.length] ?? other;
        while (!isOver) {
          const startedAt = performance.now();
          await send(`PATCH /checkins/${id}`, { token: ann.token, body: { comment } });
          slowestMs = Math.max(slowestMs, performance.now() - startedAt);
        }
      });
      await Promise.all(streams.map((stream) => stream.until(({ data }) => data.object?.comment === "before")));
      const { status } = await revoke({ user, appid, keyId }, operator.token);
      assert.equal(status, 200);
      const revokedAt = performance.now();
      comment = "secret";
      const told = bystanders.map((stream) => stream.until(({ data }) => data.object?.comment === "secret"));
      await Promise.all(streams.map((stream) => stream.closed()));
      const endedMs = performance.now() - revokedAt;
      await Promise.all(told);
      isOver = true;
      await Promise.all(writers);
      delays.push(endedMs - slowestMs);
      for (const stream of streams) {
        assert.equal(stream.messages.at(-1)?.data.reason, "tokenEnded");
        assert.ok(!stream.text.includes("secret"));
      }
      assert.equal((await listen(user)).status, 401);
      const { pathname, search } = new URL(ticket.url);
      assert.equal((await test.call(`GET ${pathname}${search}`)).body.error, "AuthAccessTokenInvalid");
    });
  }

  it("the streams close within a second, plus the time that a write takes on this machine", () => {
    assert.ok(Math.min(...delays) < 1_000, `${delays} ms`);
  });
});

describe("streams that do not read: E7, hostile.md 53, spec/streams#slow-clients", () => {
  it("buffer a bounded number of bytes, and are closed as slow", async () => {
    const application = await test.createApplication("Slow");
    const readers = await Promise.all(Array.from({ length: 6 }, () => test.signUp(undefined, application)));
    const [writer] = readers;
    assert.ok(writer);
    const streams = await Promise.all(readers.map((reader) => listenFromNow(reader, "?types=metadata.*")));
    for (const stream of streams) stream.pause();
    const value = "x".repeat(30_000);
    const count = 400; // 12 MB for each stream: more than the buffers of connections hold
    for (let n = 0; n < count; n += 25) {
      const keys = Array.from({ length: 25 }, (_, index) => [`slow${n + index}`, value]);
      await call("PUT /metadata/app", { values: Object.fromEntries(keys), visibility: "App" }, writer.token);
    }
    await until(() => test.app.streams.statistics().behind === streams.length);
    passSteadyTime(31_000);
    await until(() => test.app.streams.statistics().behind === 0);
    for (const stream of streams) stream.resume();
    await Promise.all(streams.map((stream) => stream.closed()));
    for (const { text, messages } of streams) {
      assert.ok(messages.length < count / 2, "most of it was never sent");
      assert.ok(text.length < 6_000_000, `${text.length} characters`);
    }
  });
});

describe("many streams: E8, hostile.md 54, spec/streams#resume", () => {
  it("three hundred streams that are cut simultaneously resume without a loss, and no other call is refused", async () => {
    const users = await Promise.all(Array.from({ length: 30 }, () => test.signUp()));
    const openAll = (lastIds: readonly (string | undefined)[] = []) =>
      Promise.all(
        users.flatMap((user, at) =>
          Array.from({ length: 10 }, (_, n) => listen(user, "?types=checkin.created", lastIds[at * 10 + n])),
        ),
      );
    const first = await openAll();
    for (const stream of first) assert.equal((await stream.next()).event, "ready");
    const lastIds = first.map(({ lastId }) => lastId);
    for (const stream of first) stream.cut();
    await until(() => test.app.streams.statistics().live === 0);
    await checkIn("while they were away");
    let isBack = false;
    const calls = (async () => {
      while (!isBack) assert.equal((await test.call("GET /users/me", { token: ann.token })).status, 200);
    })();
    const second = await openAll(lastIds);
    await checkIn("when they were back");
    for (const stream of second) {
      assert.equal(stream.status, 200);
      assert.equal((await stream.next()).data.isResumed, true);
      const tags = [(await stream.next()).data.object.tag, (await stream.next()).data.object.tag];
      assert.deepEqual(tags, ["while they were away", "when they were back"]);
    }
    isBack = true;
    await calls;
  });
});

describe("a noisy application beside a quiet one: E25, hostile.md 55", () => {
  it("the quiet application receives its events while the noisy one continues", async () => {
    const quiet = await test.signUp(undefined, await test.createApplication("Quiet"));
    const noisy = await Promise.all(Array.from({ length: 10 }, () => test.signUp()));
    for (const user of noisy) {
      for (let n = 0; n < 5; n += 1) (await listenFromNow(user)).resume();
    }
    const stream = await listenFromNow(quiet);
    let isOver = false;
    let writes = 0;
    const noise = noisy.map(async ({ token }) => {
      while (!isOver) {
        await checkIn("noise", token);
        writes += 1;
      }
    });
    for (let n = 0; n < 20; n += 1) {
      await checkIn(`quiet ${n}`, quiet.token);
      assert.equal((await stream.next()).data.object.tag, `quiet ${n}`);
    }
    isOver = true;
    await Promise.all(noise);
    assert.ok(writes > 20, "the noisy one wrote meanwhile");
    assert.ok(!stream.text.includes("noise"));
  });
});

describe("streams that missed thousands of events: hostile.md 54, spec/streams#resume", () => {
  it("share their reads of the log, even if they reconnect one after the other", async () => {
    const application = await test.createApplication("Long");
    const signUp = () => test.signUp(undefined, application);
    const writer = await signUp();
    const readers = await Promise.all(Array.from({ length: 4 }, signUp));
    const [reader] = readers;
    assert.ok(reader);
    const first = await listenFromNow(reader);
    await checkIn("first", reader.token);
    await first.next();
    first.cut();
    const request = { method: "POST", path: "/checkins", parameters: { location: "1,2" } };
    const requests = Array.from({ length: 50 }, () => request);
    for (let n = 0; n < rounds(4_000); n += requests.length) await call("POST /batch", { requests }, writer.token);
    await checkIn("last", reader.token);

    async function comeBack(user: TestUser, afterMs: number): Promise<void> {
      await sleep(afterMs);
      const { next } = await listen(user, "", first.lastId);
      assert.equal((await next()).data.isResumed, true);
      assert.equal((await next()).data.object.tag, "last");
    }
    const statements = () => test.app.database.statistics().statements.counts.reduce((sum, each) => sum + each, 0);
    const countStatements = async (work: () => Promise<unknown>) => {
      const before = statements();
      await work();
      return statements() - before;
    };
    const alone = await countStatements(async () => comeBack(await signUp(), 0));
    const all = await countStatements(() =>
      Promise.all(readers.flatMap((user) => Array.from({ length: 10 }, (_, n) => comeBack(user, 5 * n)))),
    );
    assert.ok(all < 15 * alone, `${all} statements for forty streams, ${alone} for one`);
  });
});

describe("a stream that missed one event, while others missed thousands: hostile.md 54, spec/streams#resume", () => {
  const count = 30_000;

  /** Appends changes of a user's private value to a log. */
  async function addChanges(applicationId: string, userId: string): Promise<void> {
    const { database } = test.app;
    const number = database.dialect.hasRowLocks ? sql`` : sql`number, `;
    const position = sql`start.position + step.n`;
    await database.write(({ queries }) =>
      sql`
        with recursive step(n) as (select 1 union all select n + 1 from step where n < ${sql.lit(count)}),
          start(position) as (select max(position) from events where application_id = ${applicationId})
        insert into events (application_id, ${number} position, id, type, at, object_id, user_id, key, slot, changed, was_shown, is_shown)
        select ${applicationId}, ${database.dialect.hasRowLocks ? sql`` : sql`${position}, `} ${position}, 'evt_' || step.n,
          'metadata.changed', ${test.now()}, ${userId}, ${userId}, 'k', ${userId}, '', 0, 0
        from start cross join step`.execute(queries),
    );
  }

  it("receives it while the others are still catching up", async () => {
    const application = await test.createApplication("Far");
    const [far, near] = [await test.signUp(undefined, application), await test.signUp(undefined, application)];
    await call("GET /events", undefined, far.token);
    await call("PUT /metadata/me/k", { value: "1", visibility: "User" }, far.token);
    const { currentToken: old } = await call("GET /events", undefined, far.token);
    await addChanges(application.appid, far.id);
    const { currentToken: recent } = await call("GET /events", undefined, near.token);
    await checkIn("missed", far.token);
    const behind = await Promise.all([1, 2, 3].map(() => listen(far, "", old)));
    const received = () => behind.map(({ messages }) => messages.length);
    await until(() => received().every((messages) => messages > 50));
    const { isResumed, next } = await firstAfterReady(near, recent);
    assert.equal(isResumed, true);
    assert.equal((await next()).data.object.tag, "missed");
    const soFar = received();
    assert.ok(Math.max(...soFar) < count / 2, `${soFar} of ${count} messages before`);
    await checkIn("now", far.token);
    assert.equal((await next()).data.object.tag, "now");
  });
});

describe("streams that reconnect while events are written: hostile.md 54, spec/streams#resume", () => {
  it("miss no event, and receive all of them in order", async () => {
    const application = await test.createApplication("Flow");
    const [writer, ...readers] = await Promise.all(
      Array.from({ length: 9 }, () => test.signUp(undefined, application)),
    );
    assert.ok(writer);
    const count = rounds(150);
    const cursors = await Promise.all(
      readers.map(async (user) => {
        const stream = await listenFromNow(user);
        stream.cut();
        return stream.lastId;
      }),
    );
    const written = (async () => {
      for (let n = 0; n < count; n += 1) await checkIn(`${n}`, writer.token);
    })();
    const received = readers.map(async (user, reader) => {
      const tags: string[] = [];
      let lastId = cursors[reader];
      while (tags.at(-1) !== `${count - 1}`) {
        const stream = await listen(user, "", lastId);
        assert.equal((await stream.next()).data.isResumed, true);
        for (let n = 0; n <= reader && tags.at(-1) !== `${count - 1}`; n += 1) {
          const { data, id } = await stream.next();
          tags.push(data.object.tag);
          lastId = id;
        }
        stream.cut();
        open.delete(stream);
      }
      return tags;
    });
    const expected = Array.from({ length: count }, (_, n) => `${n}`);
    for (const tags of await Promise.all(received)) assert.deepEqual(tags, expected);
    await written;
  });
});

/** Starts a proxy that closes a connection after a time without a byte from the server. */
async function startImpatientProxy(port: number, silenceMs: number) {
  const sockets = new Set<Socket>();
  let cuts = 0;
  const server = createServer((client) => {
    const upstream = connect(port, "127.0.0.1");
    const end = () => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) sockets.add(socket.on("error", end).on("close", end));
    upstream.setTimeout(silenceMs, () => {
      cuts += 1;
      end();
    });
    client.pipe(upstream);
    upstream.pipe(client);
  });
  const listening = await findFreePort();
  await once(server.listen(listening, "127.0.0.1"), "listening");
  return {
    port: listening,
    cuts: () => cuts,
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

describe("proxies: E10, hostile.md 56, spec/streams#heartbeats", () => {
  it("heartbeats prevent a proxy from closing a silent stream", async () => {
    const proxy = await startImpatientProxy(test.port, 10_000);
    const stream = await listenFromNow(ann, "?types=checkin.*&tag=never", proxy.port);
    const beats = () => stream.text.split(/^id: [\w-]+\n\n/m).length - 1;
    await until(() => beats() >= 4 || stream.isClosed);
    assert.deepEqual([stream.isClosed, proxy.cuts()], [false, 0]);
    proxy.close();
  });

  it("a stream that a proxy closes resumes without a loss", async () => {
    const patient = await startTestApp({
      DATABASE_URL: test.config.databaseUrl,
      STREAM_HEARTBEAT_MS: "600000",
    });
    const proxy = await startImpatientProxy(patient.port, 300);
    const stream = await listenFromNow(ann, "?types=checkin.*", proxy.port);
    await stream.closed();
    assert.equal(proxy.cuts(), 1);
    await checkIn("while it was cut");
    const resumed = await listen(ann, "?types=checkin.*", stream.lastId, patient.port);
    assert.equal((await resumed.next()).data.isResumed, true);
    assert.equal((await resumed.next()).data.object.tag, "while it was cut");
    resumed.cut();
    proxy.close();
    await patient.close();
  });
});

describe("oversized subscriptions: E11, hostile.md 57, spec/streams#subscriptions", () => {
  it("ten thousand patterns and ten thousand levels are refused, and twenty areas are served", async () => {
    const listOf = (count: number) => Array.from({ length: count }, () => "checkin.*").join();
    const nested = `${"[".repeat(2_000)}${"]".repeat(2_000)}`;
    for (const query of [`types=${listOf(500)}`, `types=${listOf(21)}`, `subscriptions=${nested}`]) {
      const refused = await test.call(`GET /events/stream?${query}`, { token: ann.token });
      assert.equal(refused.status, 400);
      assert.equal(refused.body.result, undefined);
    }
    for (const body of [{ types: listOf(10_000) }, { subscriptions: `${"[".repeat(10_000)}${"]".repeat(10_000)}` }]) {
      const refused = await test.call("POST /events/streams", { token: ann.token, body });
      assert.ok(["ParameterIncorrectFormat", "ParameterOutOfRange", "RequestTooLarge"].includes(refused.body.error));
    }
    const areas = Array.from({ length: 20 }, (_, n) => ({ types: "checkin.*", locationRange: `1,2,${n + 1}` }));
    const query = `?subscriptions=${encodeURIComponent(JSON.stringify(areas))}`;
    const stream = await listenFromNow(ann, query);
    await checkIn("in all areas");
    await checkIn("the next one");
    const tags = [(await stream.next()).data.object.tag, (await stream.next()).data.object.tag];
    assert.deepEqual(tags, ["in all areas", "the next one"]);
  });
});
