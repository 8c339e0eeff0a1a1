import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import {
  type Answer,
  assertError,
  assertResult,
  type CallOptions,
  longSessions,
  startTestApp,
  type TestApp,
  type TestOperator,
} from "../../test/harness.ts";
import { digestSecret } from "../lib/secrets.ts";

const minuteMs = 60_000;
const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0";
/** The headers that a page of this server sends with a call of the console. */
const byPerson = { "x-rollcall-console": "1", "sec-fetch-site": "same-origin" };
const byItself = { ...byPerson, "x-rollcall-console": "poll" };

let test: TestApp;
/** Another process on the same database, on another port. */
let other: TestApp;
before(async () => {
  test = await startTestApp({ TRUST_PROXY: "loopback" });
  other = await startTestApp({ DATABASE_URL: test.config.databaseUrl });
});
after(async () => {
  await other.close();
  await test.close();
});

interface SignInOptions {
  readonly headers?: Record<string, string>;
  readonly body?: object;
  readonly app?: TestApp;
}

function signIn(
  { name, password }: Pick<TestOperator, "name" | "password">,
  { headers = byPerson, body = {}, app = test }: SignInOptions = {},
): Promise<Answer> {
  return app.call("POST /_/api/sessions", { body: { name, password, cookie: true, ...body }, headers });
}

/** Returns the cookies that a response sets, except those that mark a browser. */
function sessionCookies({ headers }: Answer): string[] {
  return [headers["set-cookie"] ?? []].flat().filter((cookie) => !cookie.includes("rollcall-known-"));
}

/** Signs in, and returns the cookie as the browser sends it. */
async function cookieOf(operator: TestOperator, options?: SignInOptions): Promise<string> {
  const answer = await signIn(operator, options);
  assert.equal(answer.status, 201, answer.text);
  return sessionCookies(answer)[0]?.split(";")[0] ?? "";
}

function withCookie(cookie: string, headers: Record<string, string> = byPerson): CallOptions {
  return { headers: { cookie, ...headers } };
}

const readSelf = "GET /_/api/operators/me";
const isAlive = async (cookie: string, headers: Record<string, string> = byPerson, app = test) =>
  (await app.call(readSelf, withCookie(cookie, headers))).status === 200;

const assertNoOperator = (answer: Answer, message = "An operator token is required.") =>
  assertError(answer, 401, "AuthFailed", 256, message);
const foreign =
  "An operator token is required. The session cookie counts only for pages of this server: Origin is neither that of PUBLIC_URL nor that of Host.";

// spec/console#session-cookies
describe("POST /_/api/sessions with cookie and X-Rollcall-Console", () => {
  it("sets the token as a cookie that scripts cannot read, and does not return it", async () => {
    const operator = await test.createOperator();
    const answer = await signIn(operator);
    assert.deepEqual(Object.keys(answer.body.result), ["expires", "idleMs", "operator"]);
    const [cookie = "", ...more] = sessionCookies(answer);
    assert.match(cookie, new RegExp(`^rollcall-${test.port}=ro_[\\w-]{86}; Path=/; HttpOnly; SameSite=Strict$`));
    assert.deepEqual(more, []);
    assert.match(`${answer.headers["set-cookie"]}`, /rollcall-known-/, "the browser is marked, too");
    assert.ok(!answer.text.includes("ro_"));
    assert.ok(await isAlive(cookie.split(";")[0] ?? ""));
    assert.ok(!JSON.stringify(test.logLines).includes("ro_"));
  });

  it("sets a cookie that survives closing the browser, on request", async () => {
    const [cookie] = sessionCookies(await signIn(await test.createOperator(), { body: { isPersistent: true } }));
    assert.match(cookie ?? "", /; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict$/);
  });

  it("binds the cookie over https by its name to the host, or to the path of PUBLIC_URL", async (t) => {
    const headers = { ...byPerson, "x-forwarded-proto": "https", host: "example.com" };
    const operator = await test.createOperator();
    const [secure] = sessionCookies(await signIn(operator, { headers }));
    assert.match(secure ?? "", /^__Host-rollcall-443=ro_[\w-]+; Path=\/; HttpOnly; SameSite=Strict; Secure$/);
    const settings = { TRUST_PROXY: "loopback", PUBLIC_URL: "https://example.com/backend/" };
    const app = await startTestApp({ ...settings, DATABASE_URL: test.config.databaseUrl });
    t.after(() => app.close());
    const at = { ...headers, host: "example.com:8443" };
    const [below] = sessionCookies(await signIn(operator, { headers: at, app }));
    assert.match(below ?? "", /^__Secure-rollcall-8443=ro_[\w-]+; Path=\/backend\/_\/api; HttpOnly; .*; Secure$/);
    assert.equal((await app.call(readSelf, withCookie(below?.split(";")[0] ?? "", at))).status, 200);
  });

  it("separates the sessions of two servers on two ports of one host", async () => {
    const operator = await test.createOperator();
    const [first, second] = [await cookieOf(operator), await cookieOf(operator, { app: other })];
    const both = `${first}; ${second}`;
    assert.ok((await isAlive(both)) && (await isAlive(both, byPerson, other)));
    assert.ok(!(await isAlive(second)) && !(await isAlive(first, byPerson, other)), "the cookie of the other port");
    const out = await test.call("DELETE /_/api/sessions/current", withCookie(both));
    assert.match(`${sessionCookies(out)}`, new RegExp(`^rollcall-${test.port}=; Path=/; Max-Age=0; `));
    assert.ok(!(await isAlive(both)) && (await isAlive(both, byPerson, other)));
  });

  it("ignores two cookies of the same name, and a cookie of the secure name in a call without TLS", async () => {
    const cookie = await cookieOf(await test.createOperator());
    assertNoOperator(await test.call(readSelf, withCookie(`${cookie}; ${cookie}`)));
    assertNoOperator(await test.call(readSelf, withCookie(`__Host-${cookie}`)));
    assert.ok(await isAlive(`theme=dark; ${cookie}`));
  });

  it("allows one session per browser: the next sign-in revokes the earlier one", async () => {
    const operator = await test.createOperator();
    const earlier = await cookieOf(operator);
    const next = await cookieOf(operator, { headers: { ...byPerson, cookie: earlier } });
    assert.ok(!(await isAlive(earlier)) && (await isAlive(next)));
  });

  it("clears an invalid cookie, but not after a wrong password", async () => {
    const operator = await test.createOperator();
    const cookie = await cookieOf(operator);
    assert.deepEqual(sessionCookies(await signIn({ ...operator, password: "wrong" })), []);
    await test.call("DELETE /_/api/sessions", { token: operator.token });
    const dead = await test.call(readSelf, withCookie(cookie));
    assertNoOperator(dead);
    assert.match(`${sessionCookies(dead)}`, /=; Path=\/; Max-Age=0; HttpOnly; SameSite=Strict$/);
  });

  it("gives Authorization precedence over a cookie, whatever it contains", async () => {
    const [operator, another] = [await test.createOperator(), await test.createOperator()];
    const options = withCookie(await cookieOf(operator));
    const me = await test.call(readSelf, { ...options, token: another.token });
    assert.equal(me.body.result.id, another.id);
    for (const authorization of ["", "Service garbage", `Service ${(await test.signUp()).token}`])
      assertNoOperator(await test.call(readSelf, { headers: { ...options.headers, authorization } }));
  });

  it("ignores a cookie outside /_/api", async (t) => {
    const metrics = await startTestApp({
      DATABASE_URL: test.config.databaseUrl,
      METRICS_TOKEN: "a-token-of-a-scraper",
    });
    t.after(() => metrics.close());
    const operator = await test.createOperator();
    const [cookie, there] = [await cookieOf(operator), await cookieOf(operator, { app: metrics })];
    const { token } = await test.signUp();
    assert.equal((await test.call("GET /users/me", withCookie(cookie))).body.error, "AuthAccessTokenInvalid");
    assert.equal((await metrics.call("GET /_/prometheus", withCookie(there))).body.error, "AuthFailed");
    const body = { requests: [{ method: "GET", path: "/_/api/operators/me" }] };
    const batch = await test.call("POST /batch", { ...withCookie(cookie), token, body });
    assert.equal(batch.body.result.responses[0].error, "AuthFailed");
  });
});

// spec/console#calls-that-count
describe("a call with a session cookie", () => {
  let cookie = "";
  before(async () => {
    cookie = await cookieOf(await test.createOperator());
  });

  it("is refused by every operation without X-Rollcall-Console", async () => {
    const operations = test.app.routes.filter(({ caller }) => caller === "operator");
    assert.ok(operations.length > 40);
    for (const { method, path, pathParameters } of operations) {
      const filled = path.replaceAll(/\{(\w+)\}/g, (_, name) =>
        pathParameters?.properties[name]?.["x-kind"] === "App" ? test.application.appid : "unknown",
      );
      for (const headers of [
        {},
        { origin: test.url },
        { "x-rollcall-console": "2", "sec-fetch-site": "same-origin" },
      ]) {
        const isDownload = "sec-fetch-site" in headers && method === "GET" && /export|\.(csv|ndjson)$|file/.test(path);
        if (isDownload) continue; // spec/console#downloads
        const answer = await test.call(`${method} ${filled}`, withCookie(cookie, headers));
        assert.equal(answer.body?.error, "AuthFailed", `${method} ${path} ${JSON.stringify(headers)}`);
      }
    }
    assert.ok(await isAlive(cookie));
  });

  it("is accepted only from a page of this server", async () => {
    const { "x-rollcall-console": named } = byPerson;
    const console = { "x-rollcall-console": named };
    const { url, port } = test;
    assert.ok(await isAlive(cookie, { ...console, ...byPerson }));
    for (const site of ["same-site", "cross-site", "none", "", "same-origin, cross-site"])
      assertNoOperator(
        await test.call(readSelf, withCookie(cookie, { ...console, "sec-fetch-site": site, origin: url })),
      );
    // Without TLS, browsers send no Sec-Fetch-Site to another machine.
    const read = (headers: Record<string, string>) =>
      test.call(readSelf, withCookie(cookie, { ...console, ...headers }));
    assert.equal((await read({})).status, 200);
    assert.equal((await read({ origin: `http://127.0.0.1:${port}` })).status, 200);
    for (const origin of [
      "http://evil.example",
      `http://127.0.0.1:${port + 1}`,
      `https://127.0.0.1:${port}`,
      "null",
      "",
    ])
      assertNoOperator(await read({ origin }), foreign);
  });

  it("requires an Origin for a change if it has no Sec-Fetch-Site", async () => {
    const change = (headers: Record<string, string>) =>
      test.call("DELETE /_/api/sessions", withCookie(cookie, { "x-rollcall-console": "1", ...headers }));
    assertNoOperator(await change({}));
    assertNoOperator(await change({ origin: "http://evil.example" }), foreign);
    assertResult(await change({ origin: test.url }), 200, true);
  });

  it("may have PUBLIC_URL as its Origin behind a proxy", async (t) => {
    const settings = { DATABASE_URL: test.config.databaseUrl, PUBLIC_URL: "http://example.com/backend" };
    const app = await startTestApp(settings);
    t.after(() => app.close());
    const headers = { "x-rollcall-console": "1", origin: "http://example.com" };
    const there = await cookieOf(await test.createOperator(), { headers, app });
    assert.ok(await isAlive(there, headers, app));
  });

  it("cannot use the cookie of a sign-in on a page of another origin", async () => {
    const operator = await test.createOperator();
    const tries: Record<string, string>[] = [
      { "x-rollcall-console": "1", "sec-fetch-site": "cross-site" },
      { "x-rollcall-console": "1", "sec-fetch-site": "same-site" },
      { "x-rollcall-console": "1", origin: "http://evil.example" },
      { "x-rollcall-console": "1" },
    ];
    for (const headers of tries) {
      const answer = await signIn(operator, { headers });
      assert.deepEqual([answer.status, answer.body.error], [401, "AuthFailed"]);
      assert.equal(answer.headers["set-cookie"], undefined);
    }
    const form = await signIn(operator, { headers: { "sec-fetch-site": "cross-site", origin: "http://evil.example" } });
    assert.deepEqual(sessionCookies(form), [], "without the header there is no session in a cookie");
  });

  it("never receives a response that allows credentials to other origins", async () => {
    const preflight = { origin: "http://evil.example", "access-control-request-headers": "x-rollcall-console" };
    for (const operation of [readSelf, "OPTIONS /_/api/operators/me", "OPTIONS /_/api/sessions"]) {
      const { headers } = await test.call(operation, withCookie(cookie, { ...byPerson, ...preflight }));
      assert.equal(headers["access-control-allow-credentials"], undefined);
    }
  });

  it("extends the session unless it is a poll", async () => {
    const operator = await test.createOperator();
    const [polled, used] = [await cookieOf(operator), await cookieOf(operator)];
    const digestOf = (given: string) => digestSecret(given.split("=")[1] ?? "");
    const usedAt = async (given: string) => {
      const { reads } = test.app.database;
      const digest = digestOf(given);
      const row = reads.selectFrom("operator_sessions").select("used_at").where("digest", "=", digest);
      return (await row.executeTakeFirstOrThrow()).used_at;
    };
    const begun = test.now();
    test.advance(2 * minuteMs);
    assert.ok((await isAlive(polled, byItself)) && (await isAlive(used)));
    while ((await usedAt(used)) === begun) await new Promise((resolve) => setTimeout(resolve, 5));
    assert.equal(await usedAt(polled), begun);
    test.advance(test.config.operatorIdleMs - minuteMs);
    assert.ok(!(await isAlive(polled, byItself)) && (await isAlive(used)));
  });
});

// spec/console#downloads
describe("a download with a session cookie", () => {
  it("requires Sec-Fetch-Site: same-origin instead of X-Rollcall-Console, and is readable only by this origin", async () => {
    const cookie = await cookieOf(await test.createOperator());
    const { token } = await test.signUp();
    const bytes = Buffer.from(
      '--b\r\ncontent-disposition: form-data; name="data"; filename="a.js"\r\n' +
        "content-type: text/javascript\r\n\r\nalert(1)\r\n--b--\r\n",
    );
    const headers = { "content-type": "multipart/form-data; boundary=b" };
    const blob = await test.call("POST /blobs", { token, body: bytes, headers });
    assert.equal(blob.status, 201, blob.text);
    const file = `GET /_/api/applications/${test.application.appid}/blobs/${blob.body.result.id}/file`;
    const saved = await test.call(file, withCookie(cookie, { "sec-fetch-site": "same-origin" }));
    assert.equal(saved.text, "alert(1)");
    assert.equal(saved.headers["cross-origin-resource-policy"], "same-origin");
    // An upload that claims to be a script does not belong to the console: it is sandboxed, and a page cannot load it.
    assert.match(`${saved.headers["content-security-policy"]}`, /default-src 'none'.*sandbox/);
    assert.match(`${saved.headers["content-disposition"]}`, /^attachment/);
    assert.equal(saved.headers["x-content-type-options"], "nosniff");
    for (const refused of [{}, { "sec-fetch-site": "same-site" }, { "sec-fetch-site": "none" }, { origin: test.url }])
      assertNoOperator(await test.call(file, withCookie(cookie, refused)));
    assertNoOperator(await test.call(readSelf, withCookie(cookie, { "sec-fetch-site": "same-origin" })));
  });
});

// spec/console#the-own-sessions
describe("/_/api/sessions", () => {
  it("returns a session with its expiry times, its operator and the deployment", async () => {
    const operator = await test.createOperator("Reader", "viewer");
    const cookie = await cookieOf(operator);
    const { result } = (await test.call("GET /_/api/sessions/current", withCookie(cookie))).body;
    assert.match(result.id, /^ses_[0-9a-z]{26}$/);
    assert.equal(result.operator.id, operator.id);
    assert.equal(result.expires, `/Date(${test.now() + test.config.operatorSessionMs})/`);
    assert.deepEqual([result.created, result.proved], [`/Date(${test.now()})/`, `/Date(${test.now()})/`]);
    assert.equal(result.idleMs, test.config.operatorIdleMs);
    assert.deepEqual(Object.keys(result.deployment), ["version", "region"]);
  });

  it("returns the session of the cookie, or none and clears an invalid cookie", async () => {
    const find = (options: CallOptions) => test.call("GET /_/api/sessions/cookie", options);
    const operator = await test.createOperator("Finder", "viewer");
    const cookie = await cookieOf(operator);
    const { result } = (await find(withCookie(cookie))).body;
    const current = await test.call("GET /_/api/sessions/current", withCookie(cookie));
    assert.deepEqual(result, { session: current.body.result });
    const withoutSession = [
      { headers: byPerson },
      withCookie(cookie, { ...byPerson, "sec-fetch-site": "same-site" }),
      withCookie(cookie.replace("=", "=x")),
      { token: operator.token, ...withCookie(cookie) },
    ];
    for (const options of withoutSession) {
      const answer = await find(options);
      assert.deepEqual([answer.status, answer.body.result], [200, {}]);
    }
    assertNoOperator(await find(withCookie(cookie, { "sec-fetch-site": "same-origin" })));
    const headers = { "x-rollcall-console": "1", origin: "http://evil.example" };
    assertNoOperator(await find(withCookie(cookie, headers)), foreign);
    await test.call("DELETE /_/api/sessions/current", { token: cookie.split("=")[1] ?? "" });
    const ended = await find(withCookie(cookie));
    assert.deepEqual([ended.status, ended.body.result], [200, {}]);
    assert.match(`${sessionCookies(ended)[0]}`, /=; .*Max-Age=0/);
  });

  it("lists the valid sessions of the caller with address and browser, newest first", async () => {
    const operator = await test.createOperator(undefined, "viewer");
    test.advance(1);
    const headers = { ...byPerson, "user-agent": firefox, "x-forwarded-for": "203.0.113.7" };
    const cookie = await cookieOf(operator, { headers });
    const listed = await test.call("GET /_/api/sessions", withCookie(cookie));
    const [newest, first, ...others] = listed.body.result.pageResults;
    assert.deepEqual(others, []);
    const { id, ...shown } = newest;
    const now = `/Date(${test.now()})/`;
    const expires = `/Date(${test.now() + test.config.operatorSessionMs})/`;
    const where = { address: "203.0.113.7", browser: "Firefox on Linux", isCookie: true, current: true };
    assert.deepEqual(shown, { operatorId: operator.id, created: now, lastUsed: now, expires, ...where });
    assert.deepEqual([first.isCookie, first.current, first.browser], [false, false, ""]);
    const page = await test.call("GET /_/api/sessions?pageSize=1", withCookie(cookie));
    const { nextToken } = page.body.result;
    const next = await test.call(`GET /_/api/sessions?pagingToken=${nextToken}`, withCookie(cookie));
    assert.deepEqual([page.body.result.pageResults[0].id, next.body.result.pageResults[0].id], [id, first.id]);
  });

  it("revokes one session by its id, and answers 404 for one of another operator", async () => {
    const [operator, another] = [await test.createOperator(undefined, "viewer"), await test.createOperator()];
    const cookie = await cookieOf(operator);
    const { pageResults } = (await test.call("GET /_/api/sessions", withCookie(cookie))).body.result;
    const id = pageResults.find(({ current }: { current: boolean }) => !current)?.id;
    assertError(
      await test.call(`DELETE /_/api/sessions/${id}`, { token: another.token }),
      404,
      "ItemDoesNotExist",
      769,
      "The item does not exist.",
    );
    assertResult(await test.call(`DELETE /_/api/sessions/${id}`, withCookie(cookie)), 200, true);
    assert.equal((await test.call(readSelf, { token: operator.token })).status, 401);
    assert.ok(await isAlive(cookie));
    assertError(
      await test.call(`DELETE /_/api/sessions/${id}`, withCookie(cookie)),
      404,
      "ItemDoesNotExist",
      769,
      "The item does not exist.",
    );
  });

  it("revokes all other sessions of the caller, and for owners those of any operator", async () => {
    const [owner, viewer] = [await test.createOperator(), await test.createOperator(undefined, "viewer")];
    const [kept, ended] = [await cookieOf(viewer), await cookieOf(viewer)];
    assertResult(await test.call("DELETE /_/api/sessions", withCookie(kept)), 200, true);
    assert.ok((await isAlive(kept)) && !(await isAlive(ended)));
    for (const operation of ["GET", "DELETE"]) {
      const ofOwner = await test.call(`${operation} /_/api/sessions?operatorId=${owner.id}`, withCookie(kept));
      assertError(ofOwner, 403, "ObjectPermissionDenied", 771, "This requires the role owner.");
      const gone = `${operation} /_/api/sessions?operatorId=${test.app.ids.newId("Operator")}`;
      assertError(
        await test.call(gone, { token: owner.token }),
        404,
        "ItemDoesNotExist",
        769,
        "The item does not exist.",
      );
    }
    const listed = await test.call(`GET /_/api/sessions?operatorId=${viewer.id}`, { token: owner.token });
    assert.deepEqual(
      listed.body.result.pageResults.map(({ current }: { current: boolean }) => current),
      [false],
    );
    assertResult(await test.call(`DELETE /_/api/sessions?operatorId=${viewer.id}`, { token: owner.token }), 200, true);
    assert.ok(!(await isAlive(kept)));
    assert.equal((await test.call(readSelf, { token: owner.token })).status, 200);
  });
});

// spec/console#recent-password
describe("operations that require a recent password", () => {
  const create = (options: CallOptions) =>
    test.call("POST /_/api/operators", { ...options, body: { name: `made ${count++}`, role: "viewer" } });
  let count = 0;
  const prove = (options: CallOptions, password: string) =>
    test.call("POST /_/api/sessions/current/password", { ...options, body: { password } });

  it("are refused to a cookie whose password was entered more than ten minutes ago, until it is entered again", async () => {
    const operator = await test.createOperator();
    const options = withCookie(await cookieOf(operator));
    assert.equal((await create(options)).status, 201, "signing in counts");
    test.advance(10 * minuteMs);
    assert.equal((await create(options)).status, 201);
    test.advance(1);
    const refused = await create(options);
    const { error, errorNumber, methods, success } = refused.body;
    assert.deepEqual(
      [refused.status, error, errorNumber, methods, success],
      [403, "AuthReauthenticationRequired", 266, ["password"], false],
    );
    const change = { ...options, body: { role: "owner" } };
    assert.equal((await test.call(`PATCH /_/api/operators/${operator.id}`, change)).body.errorNumber, 266);
    assert.equal((await test.call("GET /_/api/operators", options)).status, 200, "others are not");

    assertError(await prove(options, "wrong"), 401, "AuthFailed", 256, "The password is wrong.");
    assert.equal((await create(options)).status, 403);
    const audit = "GET /_/api/audit?action=proveOperatorPassword";
    while ((await test.call(audit, options)).body.result.pageResults.length === 0)
      await new Promise((resolve) => setTimeout(resolve, 20));
    assertResult(await prove(options, operator.password), 200, true);
    assert.equal((await create(options)).status, 201);
    const { result } = (await test.call("GET /_/api/sessions/current", options)).body;
    assert.equal(result.proved, `/Date(${test.now()})/`);
  });

  it("are allowed to a token, but not to the token of a cookie, even in a header", async () => {
    const operator = await test.createOperator();
    const cookie = await cookieOf(operator);
    test.advance(11 * minuteMs);
    assert.equal((await create({ token: operator.token })).status, 201);
    assert.equal((await create({ token: cookie.split("=")[1] ?? "" })).body.errorNumber, 266);
  });

  it("are named in the OpenAPI document for operators", async () => {
    const { paths } = (await test.call("GET /_/openapi.operators.json")).body;
    assert.equal(paths["/_/api/operators"].post["x-proof"], "recent");
    assert.equal(paths["/_/api/operators"].get["x-proof"], undefined);
  });

  it("limit guesses like a sign-in", async (t) => {
    const app = await startTestApp({ DATABASE_URL: test.config.databaseUrl, ...longSessions });
    t.after(() => app.close());
    const options = withCookie(await cookieOf(await test.createOperator(), { app }));
    const guess = () => app.call("POST /_/api/sessions/current/password", { ...options, body: { password: "wrong" } });
    const statuses = (await Promise.all(Array.from({ length: 30 }, guess))).map(({ status }) => status);
    assert.deepEqual(
      [statuses.filter((each) => each === 401).length, statuses.filter((each) => each === 429).length],
      [10, 20],
    );
  });
});
