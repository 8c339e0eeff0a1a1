// Runs on one engine: it tests the queue of hashes, which is in memory.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { assertError, openRaw, startTestApp, type TestApp, type TestUser } from "../../../test/harness.ts";
import { until } from "../../../test/until.ts";
import { createClock } from "../../lib/clock.ts";
import { createLocalCounters } from "../../limits/counters.ts";
import { createPasswordChanges } from "../password-changes.ts";

/** Hashes that take about 50 ms, one at a time, and a queue that a burst fills. */
const slow = { PASSWORD_HASH_MEMORY_KIB: "32768", PASSWORD_HASH_PASSES: "2", PASSWORD_HASH_THREADS: "1" };

function logIn(test: TestApp, { userName, password, deviceToken }: TestUser) {
  return test.call("POST /users/login", { token: deviceToken, body: { username: userName, password } });
}

// spec/limits#password-hashing
describe("fair queueing of password hashes", () => {
  it("a user who changes the password repeatedly does not cause refused logins in another application", async (t) => {
    const test = await startTestApp({ ...slow, PASSWORD_HASH_QUEUE_MAX: "20", RATE_LIMIT_CALLER_PER_SECOND: "1000" });
    t.after(() => test.close());
    const attacker = await test.signUp();
    const neighbour = await test.signUp("neighbour", await test.createApplication());
    const body = { password: attacker.password, currentPassword: attacker.password };
    const flood = Array.from({ length: 100 }, () => test.call("PATCH /users/me", { token: attacker.token, body }));
    for (let n = 0; n < 5; n++) assert.equal((await logIn(test, neighbour)).status, 200);
    const answers = await Promise.all(flood);
    const changed = answers.filter(({ status }) => status === 200).length;
    assert.ok(changed >= 1 && changed <= 10, `${changed} changes`);
    for (const { status, headers } of answers) {
      if (status === 429) assert.ok(Number(headers["retry-after"]) >= 1);
      else assert.ok(status === 200 || status === 403, `${status}`); // 403: an earlier change won
    }
  });

  it("a flood of logins in one application causes no refusals in another", async (t) => {
    const test = await startTestApp({ ...slow, PASSWORD_HASH_QUEUE_MAX: "10" });
    t.after(() => test.close());
    const users = await signUpSome(test, 6);
    const neighbour = await test.signUp("neighbour", await test.createApplication());
    const flood = Array.from({ length: 60 }, (_, n) => logIn(test, users[n % 6] as TestUser));
    await new Promise((resolve) => setTimeout(resolve, 20));
    for (let n = 0; n < 5; n++) assert.equal((await logIn(test, neighbour)).status, 200);
    const answers = await Promise.all(flood);
    assert.ok(
      answers.some(({ status }) => status === 503),
      "the queue was never full",
    );
  });

  it("an operator can sign in while users' logins fill their queue", async (t) => {
    const test = await startTestApp({ ...slow, PASSWORD_HASH_QUEUE_MAX: "200" });
    t.after(() => test.close());
    const [users, operator] = [await signUpSome(test, 6), await test.createOperator()];
    const flood = Array.from({ length: 40 }, (_, n) => logIn(test, users[n % 6] as TestUser));
    const { user, unrecognized_user } = test.app.passwords.statistics().lanes;
    await until(() => user.waiting + unrecognized_user.waiting > 30);
    const body = { name: operator.name, password: operator.password };
    assert.equal((await test.call("POST /_/api/sessions", { body })).status, 201);
    assert.ok(user.waiting + unrecognized_user.waiting > 20, "the operator waited for the users");
    await Promise.all(flood);
  });

  it("no password is hashed for clients that have disconnected", async (t) => {
    const test = await startTestApp({ ...slow, PASSWORD_HASH_QUEUE_MAX: "200" });
    t.after(() => test.close());
    const users = await signUpSome(test, 6);
    const gone = Array.from({ length: 40 }, (_, n) => {
      const { userName, password, deviceToken } = users[n % 6] as TestUser;
      const body = JSON.stringify({ username: userName, password });
      const head = `POST /users/login HTTP/1.1\r\nHost: a\r\nAuthorization: Service ${deviceToken}\r\n`;
      const connection = openRaw(test.port);
      connection.write(`${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
      return connection;
    });
    const { lanes } = test.app.passwords.statistics();
    const waiting = () => lanes.user.waiting + lanes.unrecognized_user.waiting;
    await until(() => waiting() > 20);
    for (const connection of gone) connection.close();
    await until(() => waiting() === 0);
    assert.ok(lanes.user.abandoned + lanes.unrecognized_user.abandoned > 10);
    assert.equal((await logIn(test, users[0] as TestUser)).status, 200);
  });
});

// spec/limits#password-hashing
describe("changes of one user's password", () => {
  it("are limited to ten a minute: 429 RateLimitExceeded with Retry-After", async (t) => {
    const test = await startTestApp();
    t.after(() => test.close());
    const { token, password } = await test.signUp();
    const change = () => test.call("PATCH /users/me", { token, body: { password, currentPassword: password } });
    for (let n = 0; n < 10; n++) assert.equal((await change()).status, 200);
    const refused = await change();
    const message = "Too many attempts to change the password within a minute.";
    assertError(refused, 429, "RateLimitExceeded", 1282, message);
    assert.equal(refused.headers["retry-after"], "6");
    const other = await test.call("PATCH /users/me", { token, body: { firstName: "Jane" } });
    assert.equal(other.status, 200, "other changes go on");
    test.advance(6_000);
    assert.equal((await change()).status, 200);
  });

  it("run one at a time, do not delay changes of other users, and block none when one fails", async () => {
    const clock = createClock(
      () => 0,
      () => 0,
    );
    const changes = createPasswordChanges({ clock, counters: createLocalCounters(1) }, { rateLimits: true });
    const first = Promise.withResolvers<string>();
    const begun: string[] = [];
    const running = changes.run("app", "jane", () => first.promise);
    const next = changes.run("app", "jane", async () => begun.push("second"));
    assert.equal(await changes.run("app", "joan", async () => "hers"), "hers");
    assert.equal(await changes.run("another app", "jane", async () => "hers"), "hers");
    assert.deepEqual(begun, []);
    first.reject(new Error("of the work"));
    await assert.rejects(running, /of the work/);
    await next;
    assert.deepEqual(begun, ["second"]);
  });
});

async function signUpSome(test: TestApp, count: number): Promise<TestUser[]> {
  const users: TestUser[] = [];
  while (users.length < count) users.push(await test.signUp());
  return users;
}
