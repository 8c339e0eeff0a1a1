import assert from "node:assert/strict";
import { request } from "node:http";
import { after, before, describe, it } from "node:test";
import { type Answer, assertError, openRaw, startTestApp, type TestApp } from "../../test/harness.ts";
import { createUpload } from "../../test/tus.ts";
import { dataPart, download, png, upload } from "../../test/uploads.ts";
import type { NewApplication } from "../applications/applications.store.ts";
import { type ApplicationSettings, updateApplicationSettings } from "../tenancy/application-settings.ts";

let test: TestApp;
/** Another process on the same database: it changes what this one judges by. */
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

/** As many statuses as calls, one after the other. */
async function statuses(count: number, call: () => Promise<Answer>): Promise<number[]> {
  const found: number[] = [];
  for (let n = 0; n < count; n++) found.push((await call()).status);
  return found;
}

function assertLimited(answer: Answer, retryAfter: number, name: string): void {
  assertError(
    answer,
    429,
    "RateLimitExceeded",
    1282,
    "Too many calls. Try again after the time that Retry-After names.",
  );
  assert.equal(answer.headers["retry-after"], String(retryAfter));
  assert.match(String(answer.headers["ratelimit"]), new RegExp(`^"${name}";r=0;t=\\d+$`));
  assert.match(String(answer.headers["ratelimit-policy"]), new RegExp(`^"${name}";q=\\d+;w=\\d+$`));
}

/** The status of a POST that comes from another address of this machine. */
function postFrom(localAddress: string, path: string, body: unknown, token?: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json", ...(token && { authorization: `Service ${token}` }) };
    const options = { port: test.port, host: "127.0.0.1", localAddress, method: "POST", path, headers, agent: false };
    const outgoing = request(options, (incoming) => {
      incoming.resume();
      incoming.on("end", () => resolve(incoming.statusCode ?? 0));
    });
    outgoing.on("error", reject);
    outgoing.end(JSON.stringify(body));
  });
}

describe("limits of a caller", () => {
  it("429 RateLimitExceeded for the call above the burst; Retry-After tells exactly when the next is taken", async () => {
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

  it("are those of the device, whichever of its tokens it calls with; other devices and applications go on", async () => {
    const application = await limited({ caller: { perSecond: 0.1, burst: 4 } });
    const jane = await test.signUp("Jane", application);
    const neighbour = await test.signUp();
    const other = await test.registerDevice(application);
    const me = () => test.call("GET /users/me", { token: jane.token });
    const device = () => test.call("GET /devices/current", { token: jane.deviceToken });
    assert.deepEqual(await statuses(2, me), [200, 200]); // the sign-up was one
    assert.deepEqual(await statuses(2, device), [200, 429]);
    assert.equal((await me()).status, 429);
    assert.equal((await test.call("GET /devices/current", { token: other })).status, 200);
    assert.equal((await test.call("GET /users/me", { token: neighbour.token })).status, 200);
  });

  it("of a thousand calls at once exactly the burst is taken", async () => {
    const application = await limited({ caller: { perSecond: 1, burst: 100 } });
    const token = await test.registerDevice(application);
    const answers = await Promise.all(Array.from({ length: 300 }, () => test.call("GET /devices/current", { token })));
    assert.equal(answers.filter(({ status }) => status === 200).length, 100);
    assert.equal(answers.filter(({ status }) => status === 429).length, 200);
  });

  it("hold operators as well", async (t) => {
    const strict = await startTestApp({ RATE_LIMIT_CALLER_PER_SECOND: "1" });
    t.after(() => strict.close());
    const [one, other] = [await strict.createOperator(), await strict.createOperator()];
    const call = (token: string) => () => strict.call("GET /_/api/applications", { token });
    assert.deepEqual(await statuses(11, call(one.token)), [...Array(10).fill(200), 429]);
    assert.equal((await call(other.token)()).status, 200);
  });
});

describe("limits of calls in a batch: hostile.md 28", () => {
  it("each item counts, and the batch itself, as if each had been sent alone", async () => {
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

  it("an item that had to be run several times counts once", async () => {
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

  it("nothing is written by an item above the limit", async () => {
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
  it("hold all its callers together, registrations too, and nobody else's: hostile.md 30", async () => {
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

  it("a device above its own limit takes nothing away from the others", async () => {
    const application = await limited({
      application: { perSecond: 0.001, burst: 6 },
      caller: { perSecond: 0.001, burst: 2 },
    });
    const [noisy, quiet] = [await test.registerDevice(application), await test.registerDevice(application)];
    const read = (token: string) => () => test.call("GET /devices/current", { token });
    assert.deepEqual(await statuses(10, read(noisy)), [200, 200, ...Array(8).fill(429)]);
    assert.deepEqual(await statuses(2, read(quiet)), [200, 200]);
  });

  it("are in force from the next call on, when they are set and when they are taken back", async () => {
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

describe("limits of an operation", () => {
  it("hold each device, for the calls that are meant, before the parameters are looked at", async () => {
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

  it("hold those who come to the same by a resumable upload", async () => {
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

  it("are in the place of the deployment's for sign-ups, logins and registrations, of each address", async () => {
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

describe("limits of an address", () => {
  it("hold registrations, password resets and downloads by signedUrl, of that address alone", async (t) => {
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

  it("health and ping are never refused", async (t) => {
    const strict = await startTestApp({ RATE_LIMIT_CALLER_PER_SECOND: "1", RATE_LIMIT_REGISTRATIONS_PER_SECOND: "1" });
    t.after(() => strict.close());
    const found = await statuses(100, () => strict.call("GET /service/ping"));
    assert.deepEqual(new Set(found), new Set([200]));
  });
});

describe("an upload above the limit", () => {
  it("is refused before its bytes have come", async () => {
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

describe("RateLimit and RateLimit-Policy", () => {
  it("tell what is left once that is less than half, on every kind of answer", async () => {
    const application = await limited({ caller: { perSecond: 2, burst: 6 } });
    const { token } = await test.signUp("Jane", application); // one
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

  it("tell it with bytes too", async () => {
    const application = await limited({ caller: { perSecond: 2, burst: 4 } });
    const { token } = await test.signUp("Jane", application); // one
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

describe("the defaults", () => {
  it("take what honest clients do at once: 200 registrations, 100 sign-ups, 1,000 calls of a device, full batches", async () => {
    const fresh = await startTestApp();
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
      const requests = Array(200).fill({ method: "GET", path: "/users/me" });
      for (let n = 0; n < 4; n++) {
        const { body } = await fresh.call("POST /batch", { token, body: { requests } });
        assert.ok(body.result.responses.every((each: { status: number }) => each.status === 200));
      }
      const found = await statuses(1_000, () => fresh.call("GET /users/me", { token }));
      assert.deepEqual(new Set(found), new Set([200]));
    } finally {
      await fresh.close();
    }
  });

  it("RATE_LIMITS=off takes everything, whatever an application is set to", async (t) => {
    const off = await startTestApp({ RATE_LIMITS: "off", RATE_LIMIT_CALLER_PER_SECOND: "1" });
    t.after(() => off.close());
    const application = await limited({ application: { perSecond: 0.001, burst: 1 } }, off);
    const token = await off.registerDevice(application);
    const found = await statuses(30, () => off.call("GET /devices/current", { token }));
    assert.deepEqual(new Set(found), new Set([200]));
  });

  it("with WORKERS each takes its part of what comes from one address, and all that one device may", async () => {
    const limits = { RATE_LIMIT_CALLER_PER_SECOND: "1", RATE_LIMIT_REGISTRATIONS_PER_SECOND: "1", WORKERS: "4" };
    const worker = await startTestApp(limits);
    const token = await worker.registerDevice();
    const register = () => worker.call("POST /devices", { body: { ...worker.application, platform: "test" } });
    assert.deepEqual(await statuses(5, register), [201, 201, 201, 201, 429]); // twenty at once, of all four
    const read = () => worker.call("GET /devices/current", { token });
    assert.deepEqual(await statuses(11, read), [...Array(10).fill(200), 429]);
    await worker.close();
  });

  it("each process counts for itself: two take at most twice as much", async () => {
    const application = await limited({ caller: { perSecond: 0.001, burst: 3 } });
    const token = await test.registerDevice(application);
    assert.deepEqual(await statuses(4, () => test.call("GET /devices/current", { token })), [200, 200, 200, 429]);
    assert.deepEqual(await statuses(4, () => other.call("GET /devices/current", { token })), [200, 200, 200, 429]);
  });
});
