// Runs on one engine: elsewhere processes share the counters (test/shared-limits.test.ts).
import assert from "node:assert/strict";
import { request } from "node:http";
import { after, before, describe, it } from "node:test";
import {
  type Answer,
  assertError,
  newDevicesByDefault,
  openRaw,
  startTestApp,
  type TestApp,
} from "../../test/harness.ts";
import { createUpload } from "../../test/tus.ts";
import { dataPart, download, png, upload } from "../../test/uploads.ts";
import type { NewApplication } from "../applications/applications.store.ts";
import { type ApplicationSettings, updateApplicationSettings } from "../tenancy/application-settings.ts";

let test: TestApp;
/** Another process on the same database, which changes the settings that `test` uses. */
let other: TestApp;
before(async () => {
  test = await startTestApp();
  other = await startTestApp({ DATABASE_URL: test.config.databaseUrl });
});
after(async () => {
  await other.close();
  await test.close();
});

type Limits = NonNullable<ApplicationSettings["limits"]>;

async function limited(limits: Limits, app = test): Promise<NewApplication> {
  const application = await app.createApplication();
  await limit(application, limits, app === test ? other : app);
  return application;
}

async function limit({ appid }: NewApplication, limits: Limits, app = other): Promise<void> {
  await app.app.database.write(({ queries }) => updateApplicationSettings(appid, { oidc: {}, limits }, queries));
}

/** The statuses of sequential calls. */
async function statuses(count: number, call: () => Promise<Answer>): Promise<number[]> {
  const found: number[] = [];
  for (let n = 0; n < count; n++) found.push((await call()).status);
  return found;
}

function assertLimited(answer: Answer, retryAfter: number, name: string): void {
  assertError(answer, 429, "RateLimitExceeded", 1282, "Too many calls. Try again after the time in Retry-After.");
  assert.equal(answer.headers["retry-after"], String(retryAfter));
  assert.match(String(answer.headers["ratelimit"]), new RegExp(`^"${name}";r=0;t=\\d+$`));
  assert.match(String(answer.headers["ratelimit-policy"]), new RegExp(`^"${name}";q=\\d+;w=\\d+$`));
}

/** The number of admitted calls among `count`; batches and their items count. */
async function admittedOf(count: number, token: string, app: TestApp): Promise<number> {
  let admitted = 0;
  for (let left = count; left > 0; left -= 200) {
    const requests = Array(Math.min(200, left) - 1).fill({ method: "GET", path: "/devices/current" });
    const { status, body } = await app.call("POST /batch", { token, body: { requests } });
    if (status === 429) continue;
    const items: { status: number }[] = body.result.responses;
    admitted += 1 + items.filter((each) => each.status === 200).length;
  }
  return admitted;
}

/** The status of a POST from another address of this machine. */
function postFrom(
  localAddress: string,
  path: string,
  body: unknown,
  token?: string,
  { port }: TestApp = test,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json", ...(token && { authorization: `Service ${token}` }) };
    const options = { port, host: "127.0.0.1", localAddress, method: "POST", path, headers, agent: false };
    const outgoing = request(options, (incoming) => {
      incoming.resume();
      incoming.on("end", () => resolve(incoming.statusCode ?? 0));
    });
    outgoing.on("error", reject);
    outgoing.end(JSON.stringify(body));
  });
}

// spec/limits#rate-limits
const onSqlite = { skip: process.env["TEST_DATABASE_URL"] !== undefined && "PostgreSQL shares the counters" };

describe("limits of a caller", () => {
  it("refuse the call above the burst with 429 RateLimitExceeded and the exact time until the next admitted call in Retry-After", async () => {
    const application = await limited({ caller: { perSecond: 0.5, burst: 3 } });
    const token = await test.registerDevice(application);
    const call = () => test.call("GET /devices/current", { token });
    assert.deepEqual(await statuses(3, call), [200, 200, 200]);
    assertLimited(await call(), 2, "caller");
    test.advance(1_999);
    assertLimited(await call(), 1, "caller");
    test.advance(1);
    assert.deepEqual(await statuses(2, call), [200, 429]);
    test.advance(-3_600_000);
    assert.equal((await call()).status, 429);
    test.advance(7_200_000);
    assert.deepEqual(await statuses(4, call), [200, 200, 200, 429]);
  });

  it("apply to all tokens of a device, and not to other devices and applications", async () => {
    const application = await limited({ caller: { perSecond: 0.1, burst: 4 } });
    const jane = await test.signUp("Jane", application);
    const neighbour = await test.signUp();
    const other = await test.registerDevice(application);
    const me = () => test.call("GET /users/me", { token: jane.token });
    const device = () => test.call("GET /devices/current", { token: jane.deviceToken });
    assert.deepEqual(await statuses(2, me), [200, 200]); // the sign-up was the first one
    assert.deepEqual(await statuses(2, device), [200, 429]);
    assert.equal((await me()).status, 429);
    assert.equal((await test.call("GET /devices/current", { token: other })).status, 200);
    assert.equal((await test.call("GET /users/me", { token: neighbour.token })).status, 200);
  });

  it("admit exactly the burst of a thousand simultaneous calls", async () => {
    const application = await limited({ caller: { perSecond: 1, burst: 100 } });
    const token = await test.registerDevice(application);
    const answers = await Promise.all(Array.from({ length: 300 }, () => test.call("GET /devices/current", { token })));
    assert.equal(answers.filter(({ status }) => status === 200).length, 100);
    assert.equal(answers.filter(({ status }) => status === 429).length, 200);
  });

  it("apply to operators too", async (t) => {
    const strict = await startTestApp({ RATE_LIMIT_CALLER_PER_SECOND: "1" });
    t.after(() => strict.close());
    const [one, other] = [await strict.createOperator(), await strict.createOperator()];
    const call = (token: string) => () => strict.call("GET /_/api/applications", { token });
    assert.deepEqual(await statuses(11, call(one.token)), [...Array(10).fill(200), 429]);
    assert.equal((await call(other.token)()).status, 200);
  });
});

// spec/limits#what-counts
describe("limits of calls in a batch: hostile.md 28", () => {
  it("count the batch and each item as separate calls", async () => {
    const application = await limited({ caller: { perSecond: 0.1, burst: 6 } });
    const { token } = await test.signUp("Jane", application);
    const items = ["/users/me", "//users/ME/", "/users/%6de", "/users/me", "/users/me"];
    const requests = items.map((path, n) => ({ method: n % 2 === 0 ? "get" : " GET ", path }));
    const { body, status } = await test.call("POST /batch", { token, body: { requests } });
    assert.equal(status, 200);
    const found = body.result.responses.map((each: { status: number }) => each.status);
    assert.deepEqual(found, [200, 200, 200, 200, 429]);
    assert.equal(body.result.responses[4].error, "RateLimitExceeded");
    assert.equal((await test.call("POST /batch", { token, body: { requests } })).status, 429);
  });

  it("count an item once, even if it is retried", async () => {
    const application = await limited({ caller: { perSecond: 0.1, burst: 6 } });
    const { token, userName, password } = await test.signUp("Jane", application);
    const requests = [
      { method: "POST", path: "/checkins", parameters: { location: "1,2" } },
      { method: "POST", path: "/users/login", parameters: { username: userName, password } }, // cannot be in a transaction
      { method: "POST", path: "/checkins", parameters: { location: "1,2" } },
    ];
    const { body } = await test.call("POST /batch", { token, body: { requests, mode: "atomic" } });
    assert.deepEqual(
      body.result.responses.map((each: { status: number }) => each.status),
      [201, 200, 201],
    );
    assert.deepEqual(await statuses(2, () => test.call("GET /users/me", { token })), [200, 429]);
  });

  it("prevent every write by an item above the limit", async () => {
    const application = await limited({ operations: { "POST /checkins": { perSecond: 0.1, burst: 1 } } });
    const { token } = await test.signUp("Jane", application);
    const item = { method: "POST", path: "/checkins", parameters: { location: "1,2" } };
    const requests = [item, item];
    const atomic = await test.call("POST /batch", { token, body: { requests, mode: "atomic" } });
    assert.deepEqual(
      atomic.body.result.responses.map(({ error }: { error: string }) => error),
      ["BatchItemNotRun", "RateLimitExceeded"],
    );
    assert.equal((await test.call("GET /checkins", { token })).body.result.pageResults.length, 0);
  });
});

describe("limits of an application", () => {
  it("apply to the sum of all its callers, including registrations, and not to other applications: hostile.md 30", async () => {
    const application = await limited({ application: { perSecond: 0.5, burst: 5 } });
    const neighbour = await test.signUp();
    const [one, other] = [await test.registerDevice(application), await test.registerDevice(application)];
    assert.deepEqual(await statuses(2, () => test.call("GET /devices/current", { token: one })), [200, 200]);
    const read = () => test.call("GET /devices/current", { token: other });
    assert.equal((await read()).status, 200);
    assertLimited(await read(), 2, "application");
    const registration = await test.call("POST /devices", { body: { ...application, platform: "x" } });
    assertLimited(registration, 2, "application");
    const wrongKey = await test.call("POST /devices", { body: { ...application, appkey: "wrong", platform: "x" } });
    assert.equal(wrongKey.status, 401);
    assert.equal((await test.call("GET /users/me", { token: neighbour.token })).status, 200);
    test.advance(2_000);
    assert.deepEqual(await statuses(2, read), [200, 429]);
  });

  it("are separate from a device's limit, so that a device above its limit does not exhaust the application's limit", async () => {
    const application = await limited({
      application: { perSecond: 0.001, burst: 6 },
      caller: { perSecond: 0.001, burst: 2 },
    });
    const [noisy, quiet] = [await test.registerDevice(application), await test.registerDevice(application)];
    const read = (token: string) => () => test.call("GET /devices/current", { token });
    assert.deepEqual(await statuses(10, read(noisy)), [200, 200, ...Array(8).fill(429)]);
    assert.deepEqual(await statuses(2, read(quiet)), [200, 200]);
  });

  it("take effect from the next call when they are set or removed", async () => {
    const application = await test.createApplication();
    const token = await test.registerDevice(application);
    const read = () => test.call("GET /devices/current", { token });
    assert.deepEqual(await statuses(3, read), [200, 200, 200]);
    await limit(application, { caller: { perSecond: 0.001, burst: 3 } });
    assert.equal((await read()).status, 429);
    await limit(application, {});
    assert.equal((await read()).status, 200);
  });
});

// spec/limits#what-counts
describe("limits of an operation", () => {
  it("apply per device to the matching calls, before the parameters are read", async () => {
    const operations = { "post /checkins/": { perSecond: 0.5, burst: 2 }, "GET /users/me": { perSecond: 1, burst: 1 } };
    const application = await limited({ operations });
    const [jane, joan] = [await test.signUp("Jane", application), await test.signUp("Joan", application)];
    const post = (token: string) => () => test.call("POST /checkins", { token, body: { location: "nonsense" } });
    assert.deepEqual(await statuses(3, post(jane.token)), [400, 400, 429]);
    assertLimited(await post(jane.token)(), 2, "operation");
    assert.equal((await post(joan.token)()).status, 400);
    const read = (path: string) => () => test.call(`GET ${path}`, { token: jane.token });
    assert.deepEqual(await statuses(2, read("/users/ME")), [200, 429]);
    assert.deepEqual(await statuses(1, read(`/users/${jane.id}`)), [429]);
    assert.deepEqual(await statuses(2, read(`/users/${joan.id}`)), [200, 200]);
  });

  it("apply to equivalent calls by a resumable upload", async () => {
    const application = await limited({ operations: { "POST /blobs": { perSecond: 0.5, burst: 2 } } });
    const [jane, joan] = [await test.signUp("Jane", application), await test.signUp("Joan", application)];
    await upload(test, jane.token, "/blobs", dataPart("x"));
    assert.equal((await createUpload(test, jane.token, 1)).status, 201);
    assertLimited(await createUpload(test, jane.token, 1), 2, "operation");
    assert.equal((await createUpload(test, jane.token, 1, { kind: "video" })).status, 201);
    assert.equal((await createUpload(test, joan.token, 1)).status, 201);
    const own = await limited({ operations: { "POST /files/uploads": { perSecond: 0.5, burst: 1 } } });
    const { token } = await test.signUp("Jim", own);
    assert.equal((await createUpload(test, token, 1)).status, 201);
    assertLimited(await createUpload(test, token, 1), 2, "operation");
  });

  it("replace the deployment's limits per address for sign-ups, logins and registrations", async () => {
    const few = { perSecond: 0.5, burst: 2 };
    const operations = { "POST /users": few, "POST /users/login": few, "POST /devices": few };
    const application = await limited({ operations });
    const neighbour = await test.createApplication();
    const register = (of: NewApplication) => test.call("POST /devices", { body: { ...of, platform: "x" } });
    const [first, second] = [await register(application), await register(application)];
    assertLimited(await register(application), 2, "address");
    assert.equal((await register(neighbour)).status, 201);
    assert.equal(await postFrom("127.0.0.2", "/devices", { ...application, platform: "x" }), 201);

    const tokens: string[] = [first, second].map(({ body }) => body.result.accessToken);
    const credentials = (n: number) => ({ username: `user ${n}`, password: "correct horse" });
    for (const [n, token] of tokens.entries()) {
      assert.equal((await test.call("POST /users", { token, body: credentials(n) })).status, 200);
      assert.equal((await test.call("POST /users/login", { token, body: credentials(n) })).status, 200);
    }
    for (const [n, token] of tokens.entries()) {
      assertLimited(await test.call("POST /users", { token, body: credentials(n + 2) }), 2, "address");
      assertLimited(await test.call("POST /users/login", { token, body: credentials(n) }), 2, "address");
      assert.equal(await postFrom("127.0.0.2", "/users/login", credentials(n), token), 200);
    }
  });
});

describe("a device in its first minute", () => {
  it("has three quarters of the burst, and the full burst after a minute, even if the clocks of processes differ", async (t) => {
    const settings = { DATABASE_URL: test.config.databaseUrl, RATE_LIMIT_NEW_DEVICES_PER_SECOND: "100" };
    const app = await startTestApp({ ...settings, RATE_LIMIT_CALLER_PER_SECOND: "20" });
    const ahead = await startTestApp(settings);
    t.after(() => Promise.all([app.close(), ahead.close()]));
    ahead.advance(app.now() - ahead.now() + 3_600_000);
    const application = await app.createApplication();
    const token = await app.registerDevice(application);
    assert.equal(await admittedOf(200, token, app), 150);
    app.advance(60_000);
    assert.equal(await admittedOf(400, token, app), 200);
    assert.equal(await admittedOf(400, await ahead.registerDevice(application), app), 200);
  });

  it("has the full burst if the application sets at most 100 calls, because this choice is deliberate", async (t) => {
    const app = await startTestApp({ RATE_LIMIT_NEW_DEVICES_PER_SECOND: "100" });
    t.after(() => app.close());
    const application = await limited({ caller: { perSecond: 1, burst: 80 } }, app);
    assert.equal(await admittedOf(120, await app.registerDevice(application), app), 80);
  });

  it("has no additional limit with RATE_LIMIT_NEW_DEVICES_PER_SECOND=0", async (t) => {
    const app = await startTestApp({ RATE_LIMIT_CALLER_PER_SECOND: "20", RATE_LIMIT_NEW_DEVICES_PER_SECOND: "0" });
    t.after(() => app.close());
    assert.equal(await admittedOf(400, await app.registerDevice(), app), 200);
  });
});

describe("limits of an address", () => {
  it("apply to the sum of all devices of an application, including new ones, and not to other applications", async (t) => {
    const strict = await startTestApp({ RATE_LIMIT_ADDRESS_PER_SECOND: "1" });
    t.after(() => strict.close());
    const token = await strict.registerDevice();
    const read = (of: string) => strict.call("GET /devices/current", { token: of });
    assert.deepEqual(new Set(await statuses(20, () => read(token))), new Set([200]));
    assertLimited(await read(await strict.registerDevice()), 1, "address");
    const other = await strict.registerDevice(await strict.createApplication());
    assert.equal((await read(other)).status, 200);
    strict.advance(1_000);
    assert.equal((await read(token)).status, 200);
  });

  it("are lower for the sum of devices in their first minute, and unchanged for older devices, other addresses and applications (hostile.md 28, 37)", async (t) => {
    const app = await startTestApp({ RATE_LIMIT_NEW_DEVICES_PER_SECOND: "10" });
    t.after(() => app.close());
    const old = await app.registerDevice();
    app.advance(60_000);
    const newDevices = await Promise.all(Array.from({ length: 20 }, () => app.registerDevice()));
    const admitted = async () => {
      let sum = 0;
      for (const token of newDevices) sum += await admittedOf(38, token, app);
      return sum;
    };
    assert.equal(await admitted(), 200);
    const [first = ""] = newDevices;
    assertLimited(await app.call("GET /devices/current", { token: first }), 1, "address");
    assert.equal(await admittedOf(38, old, app), 38);
    assert.equal(await admittedOf(38, await app.registerDevice(await app.createApplication()), app), 38);
    const requests = [{ method: "GET", path: "/devices/current" }];
    assert.equal(await postFrom("127.0.0.2", "/batch", { requests }, first, app), 200);
    app.advance(1_000);
    assert.equal(await admittedOf(38, first, app), 10);
    app.advance(59_000);
    assert.equal(await admitted(), 760);
  });

  it("rise in proportion for new devices when an application raises its device limit", async (t) => {
    const app = await startTestApp({ RATE_LIMIT_CALLER_PER_SECOND: "20", RATE_LIMIT_NEW_DEVICES_PER_SECOND: "40" });
    t.after(() => app.close());
    const application = await limited({ caller: { perSecond: 40, burst: 400 } }, app);
    const newDevices = await Promise.all(Array.from({ length: 8 }, () => app.registerDevice(application)));
    const admitted: number[] = [];
    for (const token of newDevices) admitted.push(await admittedOf(320, token, app));
    assert.deepEqual(admitted, [...Array(5).fill(300), 100, 0, 0]);
  });

  it("apply to registrations, password resets and downloads by signedUrl, separately for each address", async (t) => {
    const strict = await startTestApp({
      RATE_LIMIT_REGISTRATIONS_PER_SECOND: "1",
      RATE_LIMIT_PASSWORD_RESETS_PER_SECOND: "1",
      RATE_LIMIT_DOWNLOADS_PER_SECOND: "1",
    });
    t.after(() => strict.close());
    const { token } = await strict.signUp();
    const picture = await upload(strict, token, "/pictures", dataPart(await png(4, 4)));
    const signed = picture.signedUrl.slice(strict.url.length);
    for (let n = 0; n < 20; n++) assert.equal((await download(strict, signed)).status, 200);
    assert.equal((await download(strict, signed)).status, 429);
    assert.equal((await download(strict, signed.split("?")[0] ?? "", { token })).status, 200);

    const register = () => strict.call("POST /devices", { body: { appid: "nonsense" } });
    const found = await statuses(20, register);
    assert.deepEqual(found, [...Array(19).fill(400), 429]); // the sign-up has registered a device
    assertLimited(await register(), 1, "address");

    const reset = () => strict.call("PATCH /users/password", { token });
    assert.deepEqual(await statuses(21, reset), [...Array(20).fill(400), 429]);
    strict.advance(1_000);
    assert.deepEqual([(await register()).status, (await reset()).status], [400, 400]);
    assert.equal((await download(strict, signed)).status, 200);
  });

  it("apply to the sum of requests without a valid token, but not to health checks, valid tokens and other addresses", async (t) => {
    const strict = await startTestApp({ RATE_LIMIT_UNKNOWN_PER_SECOND: "1", TRUST_PROXY: "loopback" });
    t.after(() => strict.close());
    const { token } = await strict.signUp();
    const from = (address: string, operation: string, own?: string) =>
      strict.call(operation, { headers: { "x-forwarded-for": address }, ...(own && { token: own }) });
    const requests = [
      ["GET /service/ping"],
      ["GET /_/openapi.json"],
      ["GET /nowhere"],
      ["GET /users/me", "wrong"],
      ["GET /_/api/operators", "wrong"],
    ] as const;
    const ask = ([operation, own]: readonly [string, string?]) => from("203.0.113.7", operation, own);
    for (let round = 0; round < 4; round += 1) {
      for (const request of requests) assert.notEqual((await ask(request)).status, 429, request[0]);
    }
    for (const request of requests) assertLimited(await ask(request), 1, "address");
    const headers = { "x-forwarded-for": "203.0.113.7", origin: "https://a.example" };
    const preflight = await strict.call("OPTIONS /users/me", {
      headers: { ...headers, "access-control-request-method": "GET" },
    });
    assert.equal(preflight.status, 429);
    for (const path of ["/_/health/live", "/_/health/ready"]) {
      assert.equal((await from("203.0.113.7", `GET ${path}`)).status, 200);
    }
    assert.equal((await from("203.0.113.7", "GET /users/me", token)).status, 200);
    assert.equal((await from("203.0.113.8", "GET /service/ping")).status, 200);
    for (let count = 0; count < 30; count += 1) assert.equal((await strict.call("GET /service/ping")).status, 200);
    strict.advance(1_000);
    assert.equal((await from("203.0.113.7", "GET /service/ping")).status, 200);
  });

  it("never apply to health and ping from the machine itself", async (t) => {
    const strict = await startTestApp({ RATE_LIMIT_CALLER_PER_SECOND: "1", RATE_LIMIT_REGISTRATIONS_PER_SECOND: "1" });
    t.after(() => strict.close());
    const found = await statuses(100, () => strict.call("GET /service/ping"));
    assert.deepEqual(new Set(found), new Set([200]));
  });
});

describe("an upload above the limit", () => {
  it("is refused before its bytes arrive", async () => {
    const application = await limited({ operations: { "POST /blobs": { perSecond: 0.001, burst: 1 } } });
    const { token } = await test.signUp("Jane", application);
    await upload(test, token, "/blobs", dataPart("x"));
    const connection = openRaw(test.port);
    const head = ["POST /blobs HTTP/1.1", "Host: x", `Authorization: Service ${token}`, "Content-Length: 1000000"];
    connection.write(`${head.join("\r\n")}\r\nContent-Type: multipart/form-data; boundary=b\r\n\r\n--b\r\n`);
    const answer = await connection.receive();
    connection.close();
    assert.ok(answer);
    assertLimited(answer, 1_000, "operation");
    const loose = test.app.database.reads.selectFrom("loose_bytes").where("application_id", "=", application.appid);
    assert.equal((await loose.selectAll().execute()).length, 0);
  });
});

// spec/limits#ratelimit-headers
describe("RateLimit and RateLimit-Policy", () => {
  it("report the remaining calls on every kind of response when less than half are left", async () => {
    const application = await limited({ caller: { perSecond: 2, burst: 6 } });
    const { token } = await test.signUp("Jane", application); // the first call
    const headersOf = async (operation: string, options = {}) => {
      const { headers } = await test.call(operation, { token, ...options });
      return [headers["ratelimit-policy"], headers["ratelimit"]];
    };
    assert.deepEqual(await headersOf("GET /users/me"), [undefined, undefined]);
    assert.deepEqual(await headersOf("GET /users/me"), [undefined, undefined]);
    assert.deepEqual(await headersOf("GET /users/me"), ['"caller";q=6;w=3', '"caller";r=2;t=2']);
    assert.deepEqual(await headersOf("GET /checkins"), ['"caller";q=6;w=3', '"caller";r=1;t=3']);
    assert.deepEqual(await headersOf("POST /checkins"), ['"caller";q=6;w=3', '"caller";r=0;t=3']);
    assert.deepEqual(await headersOf("GET /users/me"), ['"caller";q=6;w=3', '"caller";r=0;t=3']);
  });

  it("are also sent with binary responses", async () => {
    const application = await limited({ caller: { perSecond: 2, burst: 4 } });
    const { token } = await test.signUp("Jane", application); // the first call
    const { signedUrl } = await upload(test, token, "/blobs", dataPart("x"));
    const path = signedUrl.slice(test.url.length).split("?")[0];
    const { status, headers } = await download(test, path, { token });
    assert.deepEqual([status, headers.get("ratelimit")], [200, '"caller";r=1;t=2']);
  });

  it("can be read by web pages", async () => {
    const { headers } = await test.call("GET /service/ping", { headers: { origin: "https://page.example" } });
    const exposed = String(headers["access-control-expose-headers"]).split(", ");
    for (const name of ["Retry-After", "RateLimit", "RateLimit-Policy"]) assert.ok(exposed.includes(name), name);
  });
});

describe("the default limits", () => {
  it("admit the bursts of legitimate clients: 200 registrations, 100 sign-ups, 1,000 calls of a device, two full batches, and two more after a minute", async () => {
    const fresh = await startTestApp(newDevicesByDefault);
    try {
      const bodyOf = (uniqueId: string) => ({ ...fresh.application, platform: "x", uniqueId });
      const devices = await Promise.all(
        Array.from({ length: 200 }, (_, n) => fresh.call("POST /devices", { body: bodyOf(`device ${n}`) })),
      );
      const tokens: string[] = devices.map(({ body }) => body.result.accessToken);
      const users = await Promise.all(
        tokens
          .slice(0, 100)
          .map((token, n) => fresh.call("POST /users", { token, body: { username: `u${n}`, password: "a password" } })),
      );
      assert.deepEqual(new Set(users.map(({ status }) => status)), new Set([200]));
      const [token] = users.map(({ body }) => body.result.accessToken);
      assert.equal(await admittedOf(400, token, fresh), 400);
      const found = await statuses(1_000, () => fresh.call("GET /users/me", { token }));
      assert.deepEqual(new Set(found), new Set([200]));
      fresh.advance(60_000);
      assert.equal(await admittedOf(400, token, fresh), 400);
    } finally {
      await fresh.close();
    }
  });

  it("are off with RATE_LIMITS=off, even if an application has limits", async (t) => {
    const off = await startTestApp({ RATE_LIMITS: "off", RATE_LIMIT_CALLER_PER_SECOND: "1" });
    t.after(() => off.close());
    const application = await limited({ application: { perSecond: 0.001, burst: 1 } }, off);
    const token = await off.registerDevice(application);
    const found = await statuses(30, () => off.call("GET /devices/current", { token }));
    assert.deepEqual(new Set(found), new Set([200]));
  });

  // spec/limits#several-processes
  it(
    "apply per process with WORKERS: each process admits its share of the calls from one address, and all calls of one device",
    onSqlite,
    async () => {
      const limits = { RATE_LIMIT_CALLER_PER_SECOND: "1", RATE_LIMIT_REGISTRATIONS_PER_SECOND: "1", WORKERS: "4" };
      const worker = await startTestApp(limits);
      const token = await worker.registerDevice();
      const register = () => worker.call("POST /devices", { body: { ...worker.application, platform: "test" } });
      assert.deepEqual(await statuses(5, register), [201, 201, 201, 201, 429]); // a burst of twenty, shared by four workers
      const read = () => worker.call("GET /devices/current", { token });
      assert.deepEqual(await statuses(11, read), [...Array(10).fill(200), 429]);
      await worker.close();
    },
  );

  // spec/limits#several-processes
  it("are counted per process, so that two processes admit at most twice as many calls", onSqlite, async () => {
    const application = await limited({ caller: { perSecond: 0.001, burst: 3 } });
    const token = await test.registerDevice(application);
    assert.deepEqual(await statuses(4, () => test.call("GET /devices/current", { token })), [200, 200, 200, 429]);
    assert.deepEqual(await statuses(4, () => other.call("GET /devices/current", { token })), [200, 200, 200, 429]);
  });
});
