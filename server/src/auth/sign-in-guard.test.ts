import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Answer, assertError, startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";
import { createClock } from "../lib/clock.ts";
import { createSignInGuard, type LockOut, type SignInAttempt } from "./sign-in-guard.ts";

const slowed = "Too many wrong passwords. Try again after the time that Retry-After names.";

function assertSlowed(answer: Answer, retryAfter: number): void {
  assertError(answer, 429, "RateLimitExceeded", 1282, slowed);
  assert.equal(answer.headers["retry-after"], String(retryAfter));
}

describe("POST /users/login when passwords are guessed: hostile.md 7", () => {
  let test: TestApp;
  before(async () => {
    test = await startTestApp();
  });
  after(() => test.close());

  function logIn(
    { userName, deviceToken }: Pick<TestUser, "userName" | "deviceToken">,
    password = "wrong",
    app = test,
  ) {
    return app.call("POST /users/login", { token: deviceToken, body: { username: userName, password } });
  }

  /** The statuses of so many wrong logins, one after the other. */
  async function guess(user: Pick<TestUser, "userName" | "deviceToken">, count: number, app = test): Promise<number[]> {
    const found: number[] = [];
    for (let n = 0; n < count; n++) found.push((await logIn(user, "wrong", app)).status);
    return found;
  }

  const wrong = (count: number) => Array(count).fill(403);

  it("after ten wrong ones the right one too has to wait: 1 s, then twice as long each time, up to 15 minutes", async () => {
    const jane = await test.signUp();
    assert.deepEqual(await guess(jane, 10), wrong(10));
    for (const seconds of [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]) {
      assertSlowed(await logIn(jane, jane.password), seconds);
      test.advance(seconds * 1_000 - 1);
      assertSlowed(await logIn(jane), 1);
      test.advance(1);
      assert.equal((await logIn(jane)).status, 403, `after ${seconds} s`);
    }
    test.advance(900_000);
    assert.equal((await logIn(jane, jane.password)).status, 200);
    assert.deepEqual(await guess(jane, 11), [...wrong(10), 429]);
  });

  it("a right one ends the row; 15 minutes without any end it too; a refused one does not make it longer", async () => {
    const jane = await test.signUp();
    for (let round = 0; round < 3; round++) {
      assert.deepEqual(await guess(jane, 9), wrong(9));
      assert.equal((await logIn(jane, jane.password)).status, 200);
    }
    const joan = await test.signUp();
    assert.deepEqual(await guess(joan, 9), wrong(9));
    test.advance(900_000);
    assert.deepEqual(await guess(joan, 13), [...wrong(10), 429, 429, 429]);
    assertSlowed(await logIn(joan), 1);
  });

  it("a hundred wrong ones at once: ten are looked at, in batches too; a hundred right ones at once: all", async () => {
    const jane = await test.signUp();
    const answers = await Promise.all(Array.from({ length: 100 }, () => logIn(jane)));
    assert.equal(answers.filter(({ status }) => status === 403).length, 10);
    assert.equal(answers.filter(({ status }) => status === 429).length, 90);
    const joan = await test.signUp();
    const item = { method: "POST", path: "/users/login", parameters: { username: joan.userName, password: "wrong" } };
    const batches = await Promise.all(
      ["independent", "atomic", "independent"].map((mode) =>
        test.call("POST /batch", { token: joan.deviceToken, body: { mode, requests: Array(20).fill(item) } }),
      ),
    );
    const found = batches.flatMap(({ body }) => body.result.responses.map((each: { status: number }) => each.status));
    assert.equal(found.filter((status) => status === 403).length, 10, found.join());
    const jill = await test.signUp();
    const right = await Promise.all(Array.from({ length: 100 }, () => logIn(jill, jill.password)));
    assert.deepEqual(new Set(right.map(({ status }) => status)), new Set([200]));
  });

  it("tokens of the user, logins of others, and the same name in another application go on", async () => {
    const jane = await test.signUp("Jane");
    const neighbour = await test.signUp("Jane", await test.createApplication());
    const joan = await test.signUp();
    assert.deepEqual(await guess(jane, 11), [...wrong(10), 429]);
    assert.equal((await test.call("GET /users/me", { token: jane.token })).status, 200);
    assert.equal((await logIn(joan, joan.password)).status, 200);
    assert.equal((await logIn(neighbour, neighbour.password)).status, 200);
  });

  it("a device that has logged in as the user is not slowed by what others guess at the same address", async () => {
    const jane = await test.signUp();
    assert.equal((await logIn(jane, jane.password)).status, 200);
    const attacker = { userName: jane.userName, deviceToken: await test.registerDevice() };
    assert.deepEqual(await guess(attacker, 11), [...wrong(10), 429]);
    assert.equal((await logIn(jane, jane.password)).status, 200);
    assert.deepEqual(await guess(jane, 11), [...wrong(10), 429]);
  });

  it("a name in other letters is the same name, and one that nobody has is slowed alike", async () => {
    const jane = await test.signUp("Größe");
    assert.deepEqual(await guess({ ...jane, userName: "GRÖSSE" }, 10), wrong(10));
    assertSlowed(await logIn(jane), 1);
    const nobody = { ...jane, userName: "nobody at all" };
    assert.deepEqual(await guess(nobody, 10), wrong(10));
    assertSlowed(await logIn(nobody), 1);
    assert.equal((await test.call("GET /users/me", { token: jane.token })).status, 200);
  });

  it("wrong current passwords of a password change are guesses of the same row", async () => {
    const jane = await test.signUp();
    const change = (currentPassword: string) =>
      test.call("PATCH /users/me", { token: jane.token, body: { password: "a new one", currentPassword } });
    assert.deepEqual(await guess(jane, 5), wrong(5));
    for (let n = 0; n < 5; n++) assert.equal((await change("wrong")).status, 403);
    assertSlowed(await change(jane.password), 1);
    assertSlowed(await logIn(jane, jane.password), 1);
    test.advance(1_000);
    assert.equal((await change(jane.password)).status, 200);
  });

  it("each process counts for itself: two let through at most twice as many", async (t) => {
    const other = await startTestApp({ DATABASE_URL: test.config.databaseUrl });
    t.after(() => other.close());
    const jane = await test.signUp();
    assert.deepEqual(await guess(jane, 11), [...wrong(10), 429]);
    assert.deepEqual(await guess(jane, 11, other), [...wrong(10), 429]);
  });

  it("the log says that somebody has to wait, and not for which name", async () => {
    const jane = await test.signUp("a secret in the wrong field");
    await guess(jane, 10);
    const [line] = test.logLines.filter(({ msg }) => msg === "sign-ins have to wait").slice(-1);
    const { application, scope, wait_ms, address } = line ?? {};
    assert.deepEqual([application, scope, wait_ms, address], [test.application.appid, "address", 1_000, "127.0.0.1"]);
    assert.doesNotMatch(JSON.stringify(line), /secret/);
  });

  it("who has signed up is not slowed by what is guessed at many other addresses", async (t) => {
    const behind = await startTestApp({ TRUST_PROXY: "loopback" });
    t.after(() => behind.close());
    const jane = await behind.signUp();
    const token = await behind.registerDevice();
    const from = (address: string, password: string) =>
      behind.call("POST /users/login", {
        token,
        body: { username: jane.userName, password },
        headers: { "x-forwarded-for": address },
      });
    for (let n = 0; n < 100; n++) assert.equal((await from(`192.0.2.${n % 10}`, "wrong")).status, 403);
    assertSlowed(await from("192.0.2.20", jane.password), 1);
    assert.equal((await logIn(jane, jane.password, behind)).status, 200);
  });

  it("RATE_LIMITS=off ends it", async (t) => {
    const off = await startTestApp({ RATE_LIMITS: "off" });
    t.after(() => off.close());
    const jane = await off.signUp();
    assert.deepEqual(await guess(jane, 30, off), wrong(30));
  });
});

describe("SignInGuard", () => {
  function start(settings: { signInFailuresMax?: number } = {}) {
    let now = 1_000_000;
    const lockOuts: LockOut[] = [];
    const guard = createSignInGuard(
      {
        clock: createClock(
          () => now,
          () => 0,
        ),
        onLockOut: (lockOut) => void lockOuts.push(lockOut),
      },
      { rateLimits: true, signInFailuresMax: 10, workers: 1, passwordHashQueueMax: 256, ...settings },
    );
    /** Whether it was right, or for how many seconds there is no trying. */
    async function attempt(given: Partial<SignInAttempt>, isRight = false): Promise<boolean | number | undefined> {
      const whole = { applicationId: "app", nameKey: "jane", deviceId: "device", address: "10.0.0.1", ...given };
      return guard.check(whole, async () => isRight).catch(({ retryAfterSeconds }) => retryAfterSeconds);
    }
    return {
      guard,
      lockOuts,
      attempt,
      advance(ms: number) {
        now += ms;
      },
    };
  }

  it("an attacker at an address of its own is slowed, and the user at hers is not", async () => {
    const { attempt, lockOuts } = start();
    for (let n = 0; n < 10; n++) assert.equal(await attempt({ address: "6.6.6.6" }), false);
    assert.equal(await attempt({ address: "6.6.6.6" }), 1);
    assert.equal(await attempt({ address: "::ffff:6.6.6.6" }), 1);
    assert.equal(await attempt({}), false);
    assert.equal(await attempt({}, true), true);
    assert.deepEqual(
      lockOuts.map(({ address, scope, waitMs }) => [address, scope, waitMs]),
      [["6.6.6.6", "address", 1_000]],
    );
  });

  it("guesses from many addresses slow those who have not signed in before, and none who have", async () => {
    const { attempt, lockOuts } = start();
    assert.equal(await attempt({}, true), true);
    for (let n = 0; n < 100; n++) assert.equal(await attempt({ deviceId: `d${n}`, address: `6.6.6.${n}` }), false);
    assert.equal(await attempt({ deviceId: "new", address: "7.7.7.7" }, true), 1);
    assert.equal(await attempt({ deviceId: "new" }, true), 1);
    assert.equal(await attempt({ address: "7.7.7.7" }, true), 1);
    for (let n = 0; n < 9; n++) assert.equal(await attempt({}), false);
    assert.equal(await attempt({}, true), true);
    assert.equal(await attempt({ nameKey: "joan", address: "7.7.7.7" }), false);
    assert.deepEqual([lockOuts.length, lockOuts[0]?.scope], [1, "name"]);
  });

  it("one address that guesses for many names is slowed", async () => {
    const { attempt, advance } = start();
    for (let n = 0; n < 1_000; n++) assert.equal(await attempt({ nameKey: `name ${n}` }), false);
    assert.equal(await attempt({ nameKey: "another" }), 1);
    assert.equal(await attempt({ nameKey: "another", address: "10.0.0.2" }), false);
    advance(200);
    assert.equal(await attempt({ nameKey: "another" }, true), true);
    assert.equal(await attempt({ nameKey: "another" }), false);
  });

  it("all addresses of one IPv6 network are one", async () => {
    const { attempt } = start();
    for (let n = 0; n < 10; n++) assert.equal(await attempt({ address: `2001:db8:0:1::${n}` }), false);
    assert.equal(await attempt({ address: "2001:0DB8::1:ffff:1:2:3" }), 1);
    assert.equal(await attempt({ address: "2001:db8:0:2::1" }), false);
  });

  it("operators are counted by name and address, and apart from the users of every application", async () => {
    const { attempt } = start();
    const operator = { applicationId: undefined, deviceId: undefined, nameKey: "owner" };
    for (let n = 0; n < 10; n++) assert.equal(await attempt(operator), false);
    assert.equal(await attempt(operator, true), 1);
    assert.equal(await attempt({ nameKey: "owner" }), false);
  });

  it("an attempt that could not be judged does not count", async () => {
    const { guard, attempt } = start();
    const whole = { applicationId: "app", nameKey: "jane", deviceId: "device", address: "10.0.0.1" };
    for (let n = 0; n < 50; n++)
      await assert.rejects(
        guard.check(whole, () => Promise.reject(new Error("x"))),
        /x/,
      );
    assert.equal(await attempt({}, true), true);
  });

  it("a clock that steps back gives nothing and takes nothing", async () => {
    const { attempt, advance } = start();
    for (let n = 0; n < 10; n++) assert.equal(await attempt({}), false);
    advance(-3_600_000);
    assert.equal(await attempt({}), 1);
    advance(3_600_000 + 1_000);
    assert.equal(await attempt({}), false);
  });
});
