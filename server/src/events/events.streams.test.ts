import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { openStream, type TestStream } from "../../test/event-streams.ts";
import { startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";

let test: TestApp;
let ann: TestUser;
let ben: TestUser;
const open = new Set<TestStream>();
before(async () => {
  test = await startTestApp({ RATE_LIMITS: "off", STREAM_HEARTBEAT_MS: "500" });
  [ann, ben] = [await test.signUp("Ann"), await test.signUp("Ben")];
});
after(() => test.close());
afterEach(() => {
  for (const stream of open) stream.cut();
  open.clear();
});

async function listen(token: string, query = "", headers: Record<string, string> = {}): Promise<TestStream> {
  const stream = await openStream(test.port, `/events/stream${query}`, { token, headers });
  open.add(stream);
  return stream;
}

/** Opens a stream, and waits until it is ready. */
async function listenFromNow(token: string, query = ""): Promise<TestStream> {
  const stream = await listen(token, query);
  assert.equal((await stream.next()).event, "ready");
  return stream;
}

async function call(operation: string, body?: object, token = ann.token) {
  const answer = await test.call(operation, { token, ...(body && { body }) });
  assert.ok(answer.status < 300, JSON.stringify(answer.body));
  return answer.body.result;
}

const checkIn = (tag: string, token?: string) => call("POST /checkins", { location: "1,2", tag }, token);

describe("GET /events/stream: spec/streams#open-a-stream", () => {
  it("starts immediately with a reconnection time and a cursor, and no cache or proxy may store or delay it", async () => {
    const stream = await listen(ann.token);
    assert.equal(stream.status, 200);
    assert.equal(stream.headers["content-type"], "text/event-stream");
    assert.equal(stream.headers["cache-control"], "no-store, no-transform");
    assert.equal(stream.headers["x-accel-buffering"], "no");
    assert.equal(stream.headers["content-encoding"], undefined);
    const ready = await stream.next();
    assert.equal(ready.event, "ready");
    assert.match(`${ready.id}`, /^[\w-]{1,200}$/);
    assert.deepEqual(ready.data, { cursor: ready.id, isResumed: false, heartbeatSeconds: 0.5 });
    const [, retry] = /^retry: (\d+)\n/.exec(stream.text) ?? [];
    assert.ok(Number(retry) >= 1_000 && Number(retry) <= 5_000, stream.text);
  });

  it("sends an event as GET /events returns it, in one line without a name: spec/streams#messages", async () => {
    const pulled = (await call("GET /events")).currentToken;
    const stream = await listenFromNow(ann.token);
    await call("PUT /metadata/me/layout", { value: { lines: "one\ntwo" } });
    const message = await stream.next();
    assert.equal(message.event, "");
    const { pageResults } = await call(`GET /events?after=${pulled}`);
    assert.deepEqual(message.data, pageResults[0]);
  });

  it("shows owners and other users the same objects as their own reads", async () => {
    const [own, others] = [await listenFromNow(ann.token), await listenFromNow(ben.token)];
    const shared = await call("POST /checkins", { location: "1,2", readPermissions: "App" });
    const hidden = await checkIn("hidden");
    const [first, second, third] = [await own.next(), await own.next(), await others.next()];
    assert.deepEqual([first.data.objectID, second.data.objectID], [shared.id, hidden.id]);
    assert.deepEqual([third.data.type, third.data.objectID], ["checkin.created", shared.id]);
    await call(`DELETE /checkins/${hidden.id}`);
    await call(`DELETE /checkins/${shared.id}`);
    assert.equal((await own.next()).data.objectID, hidden.id);
    const { id, created, ...gone } = (await others.next()).data;
    assert.deepEqual(gone, { type: "checkin.deleted", objectID: shared.id });
  });

  it("omits events that its filters exclude", async () => {
    const stream = await listenFromNow(ann.token, "?tag=home&types=checkin.created");
    await checkIn("work");
    await call("PUT /metadata/me/other", { value: 1 });
    await checkIn("home");
    assert.equal((await stream.next()).data.object.tag, "home");
  });

  it("continues after Last-Event-ID, which takes precedence over after, without a gap: spec/streams#resume", async () => {
    const first = await listenFromNow(ann.token);
    const start = first.lastId;
    await checkIn("1");
    await first.next();
    first.cut();
    const cut = `${first.lastId}`;
    await checkIn("2");
    const second = await listen(ann.token, `?after=${start}`, { "last-event-id": cut });
    const ready = await second.next();
    assert.deepEqual(ready.data, { cursor: ready.id, isResumed: true, heartbeatSeconds: 0.5 });
    await checkIn("3");
    const tags = [await second.next(), await second.next()].map(({ data }) => data.object.tag);
    assert.deepEqual(tags, ["2", "3"]);
    const third = await listen(ann.token, `?after=${cut}`);
    await third.next();
    assert.equal((await third.next()).data.object.tag, "2");
  });

  it("sends heartbeats that advance the client's last event id and report no event: spec/streams#heartbeats", async () => {
    const stream = await listenFromNow(ben.token);
    const start = stream.lastId;
    await checkIn("not for Ben");
    while (stream.lastId === start) await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(stream.messages.length, 1);
    const resumed = await listen(ben.token, "", { "last-event-id": `${stream.lastId}` });
    assert.equal((await resumed.next()).data.isResumed, true);
  });

  it("answers an unreadable Last-Event-ID with a reset, and refuses an invalid after: spec/streams#reset-a-stream", async () => {
    const stream = await listen(ann.token, "", { "last-event-id": "forged" });
    assert.equal((await stream.next()).data.isResumed, false);
    const reset = await stream.next();
    assert.deepEqual([reset.event, reset.data], ["reset", { reason: "cursor" }]);
    await checkIn("later");
    assert.equal((await stream.next()).data.object.tag, "later");
    const refused = await test.call("GET /events/stream?after=forged", { token: ann.token });
    assert.equal(refused.body.error, "ParameterIncorrectFormat");
  });

  it("is logged and counted when it opens, not when it closes: spec/streams#open-a-stream", async () => {
    await listenFromNow(ann.token);
    const line = test.logLines.findLast(({ operation }) => operation === "streamEvents");
    assert.equal(line?.["status"], 200);
    assert.ok(Number(line?.["ms"]) < 30_000);
  });

  it("answers HEAD with the headers only", async () => {
    const { status, headers, text } = await test.call("HEAD /events/stream", { token: ann.token });
    assert.deepEqual([status, headers["content-type"], text], [200, "text/event-stream", ""]);
  });

  it("sends only the application's metadata to a token without a user", async () => {
    const stream = await listenFromNow(ann.deviceToken);
    await checkIn("hidden");
    await call("PUT /metadata/app/motd", { value: "hello", visibility: "App" });
    assert.equal((await stream.next()).data.key, "motd");
  });
});

/** Waits until the server has sent the goodbye message and closed the stream. */
async function endOf(stream: TestStream): Promise<string> {
  const messages = await stream.until(({ event }) => event === "bye");
  await stream.closed();
  return messages.at(-1)?.data.reason;
}

describe("the end of a stream: spec/streams#end-of-a-stream", () => {
  it("a revoked token closes only its own streams, and they send no event that is written later: spec/streams#revoked-tokens", async () => {
    const carl = await test.signUp();
    const credentials = { username: carl.userName, password: carl.password };
    const other = (await call("POST /users/login", credentials, carl.deviceToken)).accessToken;
    const [ended, kept] = [await listenFromNow(carl.token), await listenFromNow(other, "?types=checkin.*")];
    await call("POST /users/me/logout", {}, carl.token);
    await checkIn("later", other);
    assert.equal(await endOf(ended), "tokenEnded");
    assert.equal(ended.messages.length, 2);
    assert.equal((await kept.next()).data.object.tag, "later");
  });

  it("a token that expires closes its streams", async () => {
    const { appid } = test.application;
    const operator = await test.createOperator();
    const settings = async (tokenLifetimes: object | null) => {
      const path = `/_/api/applications/${appid}/settings`;
      const { status } = await test.call(`PATCH ${path}`, { token: operator.token, body: { tokenLifetimes } });
      assert.equal(status, 200);
    };
    await settings({ userMs: 60_000 });
    const dora = await test.signUp();
    await settings(null);
    const stream = await listenFromNow(dora.token);
    test.advance(61_000);
    assert.equal(await endOf(stream), "tokenExpired");
  });

  it("an application that is suspended, or disables the operation, closes its streams", async () => {
    const operator = await test.createOperator();
    const other = await test.createApplication();
    const eve = await test.signUp(undefined, other);
    const path = `/_/api/applications/${other.appid}`;
    const stream = await listenFromNow(eve.token);
    const body = { disabledOperations: ["GET /events/stream"] };
    await test.call(`PATCH ${path}/settings`, { token: operator.token, body });
    assert.equal(await endOf(stream), "disabled");
    await test.call(`PATCH ${path}/settings`, { token: operator.token, body: { disabledOperations: null } });
    const second = await listenFromNow(eve.token);
    await test.call(`POST ${path}/suspend`, { token: operator.token, body: { appid: other.appid } });
    assert.equal(await endOf(second), "suspended");
  });

  it("an application that stops recording events closes its streams", async () => {
    const operator = await test.createOperator();
    const other = await test.createApplication();
    const stream = await listenFromNow((await test.signUp(undefined, other)).token);
    const path = `PATCH /_/api/applications/${other.appid}/settings`;
    const { status } = await test.call(path, { token: operator.token, body: { events: { record: "never" } } });
    assert.equal(status, 200);
    assert.equal(await endOf(stream), "disabled");
  });

  it("a shutdown, or the end of a stream's lifetime, closes streams with a reconnection time", async () => {
    const DATABASE_URL = test.config.databaseUrl;
    const second = await startTestApp({ DATABASE_URL, STREAM_LIFETIME_MS: "1000" });
    const stream = await openStream(second.port, "/events/stream", { token: ann.token });
    assert.equal(await endOf(stream), "lifetime");
    assert.match(stream.text, /retry: \d+\nevent: bye\n/);
    const third = await startTestApp({ DATABASE_URL });
    const last = await openStream(third.port, "/events/stream", { token: ann.token });
    await last.next();
    await third.close();
    assert.equal(await endOf(last), "shutdown");
    await second.close();
  });
});

it("a client that stops reading gets no more events until it reads, and then all of them: spec/streams#slow-clients", async () => {
  const stream = await listenFromNow(ann.token);
  stream.pause();
  const value = "x".repeat(30_000);
  const count = 400; // more than the buffers of a connection hold
  for (let n = 0; n < count; n += 25) {
    const keys = Array.from({ length: 25 }, (_, index) => [`slow${n + index}`, value]);
    await call("PUT /metadata/me", { values: Object.fromEntries(keys) });
  }
  const { streams } = test.app;
  while (streams.statistics().behind === 0) await new Promise((resolve) => setTimeout(resolve, 50));
  stream.resume();
  const keys = new Set<string>();
  while (keys.size < count) keys.add((await stream.next()).data.key);
});

describe("the limits of streams: spec/streams#limits-of-streams", () => {
  it("a device may open ten streams, and another after one closes", async () => {
    const fred = await test.signUp();
    const streams: TestStream[] = [];
    for (let n = 0; n < 10; n += 1) streams.push(await listenFromNow(fred.token));
    const { status, headers, body } = await test.call("GET /events/stream", { token: fred.token });
    assert.deepEqual([status, body.error], [429, "RateLimitExceeded"]);
    const seconds = Number(headers["retry-after"]);
    assert.ok(seconds >= 5 && seconds <= 60, `${seconds}`);
    streams[0]?.cut();
    while (test.app.streams.statistics().live >= 10) await new Promise((resolve) => setTimeout(resolve, 20));
    await listenFromNow(fred.token);
  });

  it("a process serves STREAMS_MAX streams, and one application at most half of them unless its settings say otherwise", async () => {
    const second = await startTestApp({ STREAMS_MAX: "2" });
    const operator = await second.createOperator();
    const [gina, hal] = [await second.signUp(), await second.signUp()];
    const listenTo = async ({ token }: TestUser) => (await openStream(second.port, "/events/stream", { token })).status;
    assert.deepEqual([await listenTo(gina), await listenTo(hal)], [200, 429]);
    const body = { limits: { streams: 3 } };
    const path = `/_/api/applications/${second.application.appid}/settings`;
    assert.equal((await second.call(`PATCH ${path}`, { token: operator.token, body })).status, 200);
    assert.deepEqual([await listenTo(hal), await listenTo(hal)], [200, 429]);
    await second.close();
  });
});

it("a logout while an event's object is being read takes effect before the event is sent: E6, spec/streams#revoked-tokens", async () => {
  const dora = await test.signUp();
  const stream = await listenFromNow(dora.token, "?types=checkin.*");
  const { dispatcher } = test.app;
  const { read } = dispatcher;
  let isFirst = true;
  Object.assign(dispatcher, {
    read: async (...given: Parameters<typeof read>) => {
      if (isFirst) {
        isFirst = false;
        await call("POST /users/me/logout", {}, dora.token);
        await call(`PATCH ${given[0]}`, { comment: "secret" });
      }
      return read(...given);
    },
  });
  try {
    await call("POST /checkins", { location: "1,2", readPermissions: "App" });
    assert.equal(await endOf(stream), "tokenEnded");
  } finally {
    Object.assign(dispatcher, { read });
  }
  assert.equal(isFirst, false);
  assert.ok(!stream.text.includes("secret"));
});
