import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Answer, startTestApp, type TestApp, type TestOperator } from "../../test/harness.ts";
import { processorTime } from "../../test/processor-time.ts";
import { passSteadyTime } from "../../test/steady-clock.ts";

const days = 86_400_000;

describe("POST /_/api/sessions with cookie: spec/limits#operator-sign-ins", () => {
  let test: TestApp;
  before(async () => {
    test = await startTestApp({ TRUST_PROXY: "loopback", PASSWORD_HASH_THREADS: "1" });
  });
  after(() => test.close());

  interface SignInOptions {
    readonly headers?: Record<string, string>;
    readonly body?: object;
    readonly app?: TestApp;
    /** How far the clock advances before, by default enough that the limit of guesses admits the sign-in. */
    readonly afterMs?: number;
  }

  let address = 0;
  function signIn(
    { name, password }: Pick<TestOperator, "name" | "password">,
    { headers = {}, body = {}, app = test, afterMs = 100 }: SignInOptions = {},
  ): Promise<Answer> {
    passSteadyTime(afterMs);
    address += 1;
    const from = { "x-forwarded-for": `10.${address >> 8}.${address & 255}.1` };
    return app.call("POST /_/api/sessions", { body: { name, password, ...body }, headers: { ...from, ...headers } });
  }

  /** Returns the cookie of a sign-in, as the browser sends it. */
  async function mark(operator: TestOperator, headers: Record<string, string> = {}): Promise<string> {
    const answer = await signIn(operator, { body: { cookie: true }, headers });
    assert.equal(answer.status, 201);
    const [set] = answer.headers["set-cookie"] ?? [];
    assert.ok(set !== undefined);
    return set.split(";")[0] ?? "";
  }

  const wrongFrom = (operator: TestOperator, cookie: string, from: string) =>
    signIn({ ...operator, password: "wrong" }, { headers: { cookie, "x-forwarded-for": from } });

  it("sets a mark for the port and the scheme of the request, and none without cookie", async () => {
    const operator = await test.createOperator();
    const answer = await signIn(operator, { body: { cookie: true } });
    const [clear] = answer.headers["set-cookie"] ?? [];
    assert.match(
      clear ?? "",
      new RegExp(`^rollcall-known-${test.port}=[\\w-]+; Path=/; Max-Age=15552000; HttpOnly; SameSite=Strict$`),
    );
    assert.deepEqual(Object.keys(answer.body.result), ["token", "expires", "idleMs", "operator"]);
    const headers = { "x-forwarded-proto": "https", host: "example.com" };
    const secure = await signIn(operator, { body: { cookie: true }, headers });
    const [set] = secure.headers["set-cookie"] ?? [];
    assert.match(
      set ?? "",
      /^__Host-rollcall-known-443=[\w-]+; Path=\/; Max-Age=15552000; HttpOnly; SameSite=Strict; Secure$/,
    );
    assert.equal((await signIn(operator)).headers["set-cookie"], undefined);
    assert.equal(
      (await signIn({ ...operator, password: "wrong" }, { body: { cookie: true } })).headers["set-cookie"],
      undefined,
    );
    const foreign = await signIn(operator, { body: { cookie: true }, headers: { "sec-fetch-site": "cross-site" } });
    assert.equal(foreign.headers["set-cookie"], undefined, "a page of another origin marks no browser");
  });

  it("limits the mark to the path of PUBLIC_URL", async (t) => {
    const app = await startTestApp({ TRUST_PROXY: "loopback", PUBLIC_URL: "https://example.com/rollcall/" });
    t.after(() => app.close());
    const headers = { "x-forwarded-proto": "https", host: "example.com:8443" };
    const answer = await signIn(await app.createOperator(), { body: { cookie: true }, headers, app });
    const [set] = answer.headers["set-cookie"] ?? [];
    assert.match(set ?? "", /^__Secure-rollcall-known-8443=[\w-]+; Path=\/rollcall\/_\/api; /);
  });

  it("delays a marked browser only after its own guesses, not after guesses from its address", async () => {
    const operator = await test.createOperator();
    const cookie = await mark(operator);
    const from = "6.6.6.6";
    for (let n = 0; n < 10; n++) await wrongFrom(operator, "", from);
    const shared = { "x-forwarded-for": from };
    assert.equal((await signIn(operator, { headers: shared })).status, 429);
    assert.equal((await signIn(operator, { headers: { ...shared, cookie } })).status, 201);
    for (let n = 0; n < 10; n++) assert.equal((await wrongFrom(operator, cookie, `7.7.${n}.7`)).status, 401);
    // The mark must wait, so it counts as unrecognized and the address is checked.
    assert.equal((await signIn(operator, { headers: { ...shared, cookie } })).status, 429);
    assert.equal((await signIn(operator, { headers: { cookie } })).status, 201);
  });

  it("accepts a mark for one operator, one password and 180 days, and ignores a forged or duplicate one", async (t) => {
    const app = await startTestApp({ DATABASE_URL: test.config.databaseUrl, TRUST_PROXY: "loopback" });
    t.after(() => app.close());
    const [operator, other] = [await test.createOperator(), await test.createOperator()];
    const [name = "", value = ""] = (await mark(operator, { host: "a:1" })).split("=");
    const from = { "x-forwarded-for": "8.8.8.8", host: "a:1" };
    async function counts(cookie: string, named = operator): Promise<boolean> {
      const guess = () => signIn({ ...named, password: "wrong" }, { headers: from, app });
      while ((await guess()).status !== 429);
      return (await signIn(named, { headers: { ...from, cookie }, app })).status === 201;
    }
    assert.equal(await counts(`${name}=${value}`), true, "on another process too");
    assert.equal(await counts(`${name}=${value}`, other), false);
    for (const bad of [
      `${name}=${value.slice(0, -2)}AA`,
      `${name}=${value}; ${name}=${value}`,
      `x${name}=${value}`,
      `${name}=`,
    ]) {
      assert.equal(await counts(bad), false, bad);
    }
    app.advance(180 * days);
    assert.equal(await counts(`${name}=${value}`), false, "expired");
    app.advance(-180 * days);
    const changed = { password: "an entirely new one", currentPassword: operator.password };
    assert.equal((await test.call("PATCH /_/api/operators/me", { token: operator.token, body: changed })).status, 200);
    assert.equal(
      await counts(`${name}=${value}`, { ...operator, password: changed.password }),
      false,
      "another password",
    );
  });

  it("lets the owner sign in within five seconds while a thousand addresses guess and logins flood the server", async () => {
    const operator = await test.createOperator();
    const cookie = await mark(operator);
    const users = await Promise.all(Array.from({ length: 10 }, () => test.signUp()));
    let isStopped = false;
    const statuses = new Set<number>();
    const guessers = Array.from({ length: 50 }, async (_, part) => {
      for (let n = part; !isStopped; n = (n + 50) % 1_000) {
        const headers = { "x-forwarded-for": `172.${16 + (n >> 8)}.${n & 255}.9` };
        statuses.add((await signIn({ ...operator, password: "wrong" }, { headers, afterMs: 0 })).status);
      }
    });
    const storm = users.map(async ({ userName, password, deviceToken: token }, n) => {
      const headers = { "x-forwarded-for": `192.168.${n}.1` };
      while (!isStopped)
        await test.call("POST /users/login", { token, body: { username: userName, password }, headers });
    });
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    for (const headers of [{ cookie }, { "x-forwarded-for": "203.0.113.7" }]) {
      const usedMs = processorTime(); // the flood and other programs occupy the processor
      const answer = await signIn(operator, { headers, afterMs: 0 });
      assert.equal(answer.status, 201, JSON.stringify(headers));
      const took = usedMs();
      assert.ok(took < 5_000, `${JSON.stringify(headers)}: ${took} ms`);
    }
    isStopped = true;
    passSteadyTime(5_000); // admits the fifty waiting guesses
    await Promise.all([...guessers, ...storm]);
    assert.deepEqual(
      [...statuses].filter((status) => ![401, 429].includes(status)),
      [],
    );
  });

  it("reports a hundred wrong passwords for one name within an hour, and delays no caller", async () => {
    const operator = await test.createOperator();
    for (let n = 0; n < 100; n++) assert.equal((await signIn({ ...operator, password: "wrong" })).status, 401);
    const reported = test.logLines.filter(({ msg }) => msg === "password guessing detected");
    assert.ok(reported.length >= 1);
    assert.doesNotMatch(JSON.stringify(reported), new RegExp(operator.name));
    // Without the filter, the wrong passwords themselves may fill the first page.
    const log = await test.call("GET /_/api/audit?action=passwordGuessing", { token: operator.token });
    assert.ok(log.body.result.pageResults.length >= 1);
    assert.equal((await signIn(operator)).status, 201);
  });
});
