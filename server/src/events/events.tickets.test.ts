import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { openStream, type TestStream } from "../../test/event-streams.ts";
import { startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";

let test: TestApp;
let ann: TestUser;
before(async () => {
  test = await startTestApp({ RATE_LIMITS: "off" });
  ann = await test.signUp("Ann");
});
after(() => test.close());

async function call(operation: string, body?: object, token = ann.token) {
  const answer = await test.call(operation, { token, ...(body && { body }) });
  assert.ok(answer.status < 300, JSON.stringify(answer.body));
  return answer.body.result;
}

const checkIn = (tag: string, location = "1,2") => call("POST /checkins", { location, tag });

/** Returns the path and query of a URL that the server created. */
async function makeUrl(parameters: object = {}, token = ann.token): Promise<string> {
  const { url } = await call("POST /events/streams", parameters, token);
  assert.ok(url.startsWith(`${test.url}/events/stream?ticket=`), url);
  return url.slice(test.url.length);
}

async function open(path: string, headers: Record<string, string> = {}): Promise<TestStream> {
  const stream = await openStream(test.port, path, { headers });
  assert.equal(stream.status, 200, stream.text);
  return stream;
}

async function listen(path: string): Promise<TestStream> {
  const stream = await open(path);
  assert.equal((await stream.next()).event, "ready");
  return stream;
}

describe("a URL with a ticket: spec/streams#tickets", () => {
  it("opens its own stream repeatedly, without a token", async () => {
    const path = await makeUrl({ types: "checkin.*", tag: "home" });
    const first = await listen(path);
    await checkIn("work");
    await checkIn("home");
    assert.equal((await first.next()).data.object.tag, "home");
    assert.equal(first.headers["referrer-policy"], "no-referrer");
    first.cut();
    await checkIn("home");
    const second = await open(path, { "last-event-id": `${first.lastId}` });
    assert.equal((await second.next()).data.isResumed, true);
    assert.equal((await second.next()).data.object.tag, "home");
    second.cut();
  });

  it("opens no other operation, and is not logged", async () => {
    const path = await makeUrl();
    const [, ticket = ""] = path.split("ticket=");
    assert.equal((await test.call(`GET /users/me?ticket=${ticket}`)).status, 401);
    assert.equal((await test.call("GET /users/me", { token: ticket })).status, 401);
    (await listen(path)).cut();
    assert.ok(!JSON.stringify(test.logLines).includes(ticket.slice(0, 40)));
  });

  it("is refused before the first byte if it is altered or expired, or its session is over", async () => {
    const path = await makeUrl({ expiresInSeconds: 60 });
    const altered = `${path.slice(0, -2)}${path.endsWith("AA") ? "BB" : "AA"}`;
    assert.equal((await test.call(`GET ${altered}`)).body.error, "AuthSignatureInvalid");
    const carl = await test.signUp();
    const ofCarl = await makeUrl({}, carl.token);
    const stream = await listen(ofCarl);
    await call("POST /users/me/logout", {}, carl.token);
    assert.equal((await stream.until(({ event }) => event === "bye")).at(-1)?.data.reason, "tokenEnded");
    assert.equal((await test.call(`GET ${ofCarl}`)).body.error, "AuthAccessTokenInvalid");
    const expiring = await listen(path);
    test.advance(61_000);
    assert.equal((await expiring.until(({ event }) => event === "bye")).at(-1)?.data.reason, "tokenExpired");
    assert.equal((await test.call(`GET ${path}`)).body.error, "AuthSignatureInvalid");
  });

  it("stays valid after a renewal of the token that created it", async () => {
    const dora = await test.signUp();
    const stream = await listen(await makeUrl({}, dora.token));
    const renewed = (await call("POST /users/me/tokens", {}, dora.token)).accessToken;
    await call("GET /users/me", undefined, renewed);
    await call("PUT /metadata/me/key", { value: 1 }, renewed);
    const seen = await stream.until(({ data }) => data.key === "key");
    assert.ok(!seen.some(({ event }) => event === "bye"));
    stream.cut();
  });

  it("answers a temporary failure with a goodbye message, because browsers do not repeat a refused call", async () => {
    const eve = await test.signUp();
    const path = await makeUrl({}, eve.token);
    const streams: TestStream[] = [];
    for (let n = 0; n < 10; n += 1) streams.push(await listen(path));
    const busy = await open(path);
    await busy.closed();
    const [, retry] = /^retry: (\d+)\nevent: bye\ndata: {"reason":"busy"}\n\n$/.exec(busy.text) ?? [];
    assert.ok(Number(retry) >= 5_000 && Number(retry) <= 60_000, busy.text);
    for (const stream of streams) stream.cut();
  });

  it("is not created with parameters of more than 2 KiB, invalid parameters, or a lifetime out of range", async () => {
    const refusalOf = async (body: object) =>
      (await test.call("POST /events/streams", { token: ann.token, body })).body.error;
    assert.equal(await refusalOf({ types: "nothing" }), "ParameterIncorrectFormat");
    assert.equal(await refusalOf({ after: "forged" }), "ParameterIncorrectFormat");
    assert.equal(await refusalOf({ expiresInSeconds: 59 }), "ParameterOutOfRange");
    assert.equal(await refusalOf({ expiresInSeconds: 86_401 }), "ParameterOutOfRange");
    const subscriptions = Array.from({ length: 20 }, (_, n) => ({ tag: `${n}`.padEnd(100, "x") }));
    assert.equal(await refusalOf({ subscriptions }), "RequestTooLarge");
  });
});

describe("subscriptions: spec/streams#subscriptions", () => {
  it("send an event that matches several of them once", async () => {
    const subscriptions = JSON.stringify([
      { tag: "home" },
      { locationRange: "50,8,1000", types: "checkin.created" },
      { types: "checkin.*", tag: "home" },
    ]);
    const stream = await openStream(test.port, `/events/stream?subscriptions=${encodeURIComponent(subscriptions)}`, {
      token: ann.token,
    });
    await stream.next();
    await checkIn("none");
    await checkIn("near", "50,8");
    await checkIn("home");
    await checkIn("home", "50,8");
    const tags = [await stream.next(), await stream.next(), await stream.next()].map(({ data }) => data.object.tag);
    assert.deepEqual(tags, ["near", "home", "home"]);
    await call("PUT /metadata/me/end", { value: 1 });
    stream.cut();
  });

  it("are refused if there are more than 20, if they are nested, or next to other conditions: E11 of hostile lines", async () => {
    const deep = `${"[".repeat(1_000)}${"]".repeat(1_000)}`;
    const wrong = [
      `subscriptions=${JSON.stringify(Array(21).fill({ tag: "a" }))}`,
      "subscriptions=[]",
      "subscriptions=[1]",
      `subscriptions=${JSON.stringify([{ tag: { tag: "a" } }])}`,
      `subscriptions=${JSON.stringify([{ types: "nothing" }])}`,
      `subscriptions=${JSON.stringify([{ Subscriptions: [{ tag: "a" }] }])}`,
      `subscriptions=${deep}`,
      `subscriptions=${JSON.stringify([{ tag: "a" }])}&types=*`,
      `types=${Array(10_000).fill("*").join()}`.slice(0, 6_000),
    ];
    for (const query of wrong) {
      const { status, body } = await test.call(`GET /events/stream?${encodeURI(query)}`, { token: ann.token });
      assert.ok(
        ["ParameterIncorrectFormat", "ParameterOutOfRange"].includes(body?.error),
        `${status} ${query.slice(0, 80)}`,
      );
    }
  });

  it("are refused in a batch, which cannot contain a stream", async () => {
    const { responses } = await call("POST /batch", { requests: [{ method: "GET", path: "/events/stream" }] });
    assert.equal(responses[0].error, "OperationNotFound");
  });
});

describe("web pages of other origins", () => {
  it("may resume with Last-Event-ID, unless the application allows other origins only", async () => {
    const origin = "https://app.example.com";
    const headers = {
      origin,
      "access-control-request-method": "GET",
      "access-control-request-headers": "authorization,last-event-id",
    };
    const preflight = await test.call("OPTIONS /events/stream", { headers });
    assert.match(`${preflight.headers["access-control-allow-headers"]}`, /last-event-id/i);
    const other = await test.createApplication();
    const user = await test.signUp(undefined, other);
    const operator = await test.createOperator();
    const path = `PATCH /_/api/applications/${other.appid}/settings`;
    await test.call(path, { token: operator.token, body: { origins: [origin] } });
    const [allowed, foreign] = await Promise.all(
      [origin, "https://evil.example.com"].map((each) =>
        openStream(test.port, "/events/stream", { token: user.token, headers: { origin: each } }),
      ),
    );
    assert.equal(allowed?.headers["access-control-allow-origin"], origin);
    assert.equal(foreign?.headers["access-control-allow-origin"], undefined);
    allowed?.cut();
    foreign?.cut();
  });
});

describe("a ticket and the lifetime of tokens: spec/streams#tickets", () => {
  const minute = 60_000;
  let short: TestApp;
  before(async () => {
    short = await startTestApp({
      USER_TOKEN_LIFETIME_MS: `${10 * minute}`,
      DEVICE_TOKEN_LIFETIME_MS: `${20 * minute}`,
      RATE_LIMITS: "off",
    });
  });
  after(() => short.close());

  async function make(token: string): Promise<{ path: string; expires: string }> {
    const { body } = await short.call("POST /events/streams", { token, body: { expiresInSeconds: 86_400 } });
    return { path: body.result.url.slice(short.url.length), expires: body.result.expires };
  }

  async function listenTo(path: string): Promise<TestStream> {
    const stream = await openStream(short.port, path);
    assert.equal((await stream.next()).event, "ready");
    return stream;
  }

  it("a ticket and its streams outlive a token that is renewed, but not the last token of the session", async () => {
    const [ending, renewing] = [await short.signUp(), await short.signUp()];
    const [ofEnding, ofRenewing] = [await make(ending.token), await make(renewing.token)];
    const [ended, kept] = [await listenTo(ofEnding.path), await listenTo(ofRenewing.path)];
    short.advance(9 * minute);
    const renewed = (await short.call("POST /users/me/tokens", { token: renewing.token })).body.result.accessToken;
    short.advance(minute + 1_000);
    assert.equal((await ended.until(({ event }) => event === "bye")).at(-1)?.data.reason, "tokenEnded");
    assert.equal((await short.call(`GET ${ofEnding.path}`)).body.error, "AuthAccessTokenInvalid");
    await short.call("PUT /metadata/me/key", { token: renewed, body: { value: 1 } });
    const seen = await kept.until(({ data }) => data.key === "key");
    assert.ok(!seen.some(({ event }) => event === "bye"));
    (await listenTo(ofRenewing.path)).cut();
    kept.cut();
  });

  it("a ticket of a device token expires with the token", async () => {
    const token = await short.registerDevice();
    const { path, expires } = await make(token);
    assert.equal(expires, `/Date(${short.now() + 20 * minute})/`);
    const stream = await listenTo(path);
    short.advance(20 * minute + 1_000);
    assert.equal((await stream.until(({ event }) => event === "bye")).at(-1)?.data.reason, "tokenExpired");
    assert.equal((await short.call(`GET ${path}`)).body.error, "AuthSignatureInvalid");
  });
});
