import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Answer, assertError, startTestApp, type TestApp, type TestUser } from "../../../test/harness.ts";
import { createClock } from "../../lib/clock.ts";
import { createLocalCounters } from "../../limits/counters.ts";
import { createSignInGuard, type Guessing, type LockOut, type SignInAttempt } from "./sign-in-guard.ts";

/** An attempt of an unrecognized caller. */
const strange: SignInAttempt = {
  applicationId: "app",
  nameKey: "jane",
  deviceId: "device",
  address: "10.0.0.1",
  recognizedOrigin: undefined,
};

const slowed = "Too many wrong passwords. Try again after the time that Retry-After names.";

function assertSlowed(answer: Answer, retryAfter: number): void {
  assertError(answer, 429, "RateLimitExceeded", 1282, slowed);
  assert.equal(answer.headers["retry-after"], String(retryAfter));
}

// spec/limits#password-guessing
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

  /** The statuses of `count` wrong logins, one after the other. */
  async function guess(user: Pick<TestUser, "userName" | "deviceToken">, count: number, app = test): Promise<number[]> {
    const found: number[] = [];
    for (let n = 0; n < count; n++) found.push((await logIn(user, "wrong", app)).status);
    return found;
  }

  const wrong = (count: number) => Array(count).fill(403);

  it("delays even the correct password after ten wrong ones: by 1 s, then twice as long each time, up to 15 minutes", async () => {
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

  it("resets the series after a correct password or 15 minutes without an attempt; a refused attempt does not extend it", async () => {
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

  it("checks ten of a hundred concurrent wrong logins, in batches too; a hundred concurrent correct logins all succeed", async () => {
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

  it("does not affect the user's tokens, logins of other users, and the same name in another application", async () => {
    const jane = await test.signUp("Jane");
    const neighbour = await test.signUp("Jane", await test.createApplication());
    const joan = await test.signUp();
    assert.deepEqual(await guess(jane, 11), [...wrong(10), 429]);
    assert.equal((await test.call("GET /users/me", { token: jane.token })).status, 200);
    assert.equal((await logIn(joan, joan.password)).status, 200);
    assert.equal((await logIn(neighbour, neighbour.password)).status, 200);
  });

  it("does not slow down a device that has logged in as the user because of guesses by others at the same address", async () => {
    const jane = await test.signUp();
    assert.equal((await logIn(jane, jane.password)).status, 200);
    const attacker = { userName: jane.userName, deviceToken: await test.registerDevice() };
    assert.deepEqual(await guess(attacker, 11), [...wrong(10), 429]);
    assert.equal((await logIn(jane, jane.password)).status, 200);
    assert.deepEqual(await guess(jane, 11), [...wrong(10), 429]);
  });

  it("treats another spelling of a name as the same name, and slows down an unknown name alike", async () => {
    const jane = await test.signUp("Größe");
    assert.deepEqual(await guess({ ...jane, userName: "GRÖSSE" }, 10), wrong(10));
    assertSlowed(await logIn(jane), 1);
    const unknown = { ...jane, userName: "nobody at all" };
    assert.deepEqual(await guess(unknown, 10), wrong(10));
    assertSlowed(await logIn(unknown), 1);
    assert.equal((await test.call("GET /users/me", { token: jane.token })).status, 200);
  });

  it("counts wrong current passwords of a password change in the same series", async () => {
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

  // spec/limits#several-processes
  it("admits as many attempts by two processes on PostgreSQL as by one; processes on SQLite count separately", async (t) => {
    const other = await startTestApp({ DATABASE_URL: test.config.databaseUrl });
    t.after(() => other.close());
    const jane = await test.signUp();
    assert.deepEqual(await guess(jane, 11), [...wrong(10), 429]);
    const isShared = test.app.database.dialect.hasRowLocks;
    assert.deepEqual(await guess(jane, 11, other), isShared ? Array(11).fill(429) : [...wrong(10), 429]);
  });

  it("logs that a caller has to wait, but not for which name", async () => {
    const jane = await test.signUp("a secret in the wrong field");
    await guess(jane, 10);
    const [line] = test.logLines.filter(({ msg }) => msg === "sign-ins are delayed").slice(-1);
    const { application, scope, wait_ms, address } = line ?? {};
    assert.deepEqual([application, scope, wait_ms, address], [test.application.appid, "origin", 1_000, "127.0.0.1"]);
    assert.doesNotMatch(JSON.stringify(line), /secret/);
  });

  // spec/limits#recognized-devices
  it("lets the user sign in from a recognized device, after a restart too, and from a new phone, while a hundred addresses guess", async (t) => {
    const trusting = { TRUST_PROXY: "loopback", DATABASE_URL: test.config.databaseUrl };
    const jane = await test.signUp();
    for (const round of ["first", "after a restart"]) {
      const app = await startTestApp(trusting);
      t.after(() => app.close());
      const from = (address: string, password: string, token: string) =>
        app.call("POST /users/login", {
          token,
          body: { username: jane.userName, password },
          headers: { "x-forwarded-for": address },
        });
      const attacker = await test.registerDevice();
      const statuses: number[] = [];
      const guesses = Array.from({ length: 300 }, async (_, n) => {
        statuses.push((await from(`6.6.${n % 100}.1`, "wrong", attacker)).status);
      });
      const guessed = Promise.allSettled(guesses);
      assert.equal((await from("10.0.0.1", jane.password, jane.deviceToken)).status, 200, round);
      assert.equal((await from("10.0.0.2", jane.password, await test.registerDevice())).status, 200, round);
      assert.ok(statuses.length < guesses.length, "guesses are still waiting");
      await app.close(); // interrupts the waiting ones
      await guessed;
      assert.ok(statuses.length > 0);
      assert.ok(
        statuses.every((status) => status === 403 || status === 429),
        statuses.join(),
      );
    }
  });

  // spec/limits#recognized-devices
  it("recognizes the last eight devices from which a user has signed in", async () => {
    const jane = await test.signUp();
    for (let n = 0; n < 9; n++) {
      test.advance(1_000);
      const deviceToken = await test.registerDevice();
      assert.equal((await logIn({ ...jane, deviceToken }, jane.password)).status, 200);
    }
    const known = await test.app.database.reads
      .selectFrom("recognized_devices")
      .select("recognized_at")
      .where("application_id", "=", test.application.appid)
      .where("user_id", "=", jane.id)
      .execute();
    assert.equal(known.length, 8);
    const oldest = Math.min(...known.map(({ recognized_at }) => recognized_at));
    assert.equal(oldest, test.now() - 7_000);
  });

  it("is off with RATE_LIMITS=off", async (t) => {
    const off = await startTestApp({ RATE_LIMITS: "off" });
    t.after(() => off.close());
    const jane = await off.signUp();
    assert.deepEqual(await guess(jane, 30, off), wrong(30));
  });
});

describe("SignInGuard", () => {
  function start({ workers = 1, ...settings }: { signInFailuresMax?: number; workers?: number } = {}) {
    let now = 1_000_000;
    const lockOuts: LockOut[] = [];
    const guessings: Guessing[] = [];
    const guard = createSignInGuard(
      {
        clock: createClock(
          () => now,
          () => 0,
        ),
        counters: createLocalCounters(workers),
        onLockOut: (lockOut) => void lockOuts.push(lockOut),
        onGuessing: (guessing) => void guessings.push(guessing),
      },
      { rateLimits: true, signInFailuresMax: 10, workers, passwordHashQueueMax: 256, ...settings },
    );
    /** Whether the password was right, or the seconds to wait. */
    async function attempt(given: Partial<SignInAttempt>, isRight = false): Promise<boolean | number | undefined> {
      const whole = { ...strange, ...given };
      return guard.check(whole, async () => isRight).catch(({ retryAfterSeconds }) => retryAfterSeconds);
    }
    return {
      guard,
      lockOuts,
      guessings,
      attempt,
      advance(ms: number) {
        now += ms;
      },
    };
  }

  it("slows down an attacker at its own address, and not the user at another one", async () => {
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

  it("admits each process's share with WORKERS, but at least three attempts for typing mistakes", async () => {
    for (const [workers, guesses] of [
      [2, 5],
      [16, 3],
    ] as const) {
      const { attempt } = start({ workers });
      for (let n = 0; n < guesses; n++) assert.equal(await attempt({}), false);
      assert.equal(await attempt({}), 1);
    }
  });

  it("delays only the callers of guesses from many addresses, and reports them once an hour", async () => {
    const { attempt, lockOuts, guessings, advance } = start();
    for (let n = 0; n < 105; n++) assert.equal(await attempt({ deviceId: `d${n}`, address: `6.6.${n}.1` }), false);
    assert.deepEqual(guessings, [{ applicationId: "app", failures: 100 }]);
    assert.deepEqual(lockOuts, []);
    assert.equal(await attempt({ deviceId: "new", address: "7.7.7.7" }, true), true);
    assert.equal(await attempt({ recognizedOrigin: "device" }, true), true);
    advance(3_600_000);
    assert.equal(await attempt({ address: "8.8.8.8" }), false);
    assert.equal(guessings.length, 1);
  });

  it("counts a recognized origin separately, and slows it down for its own guesses", async () => {
    const { attempt, lockOuts } = start();
    const own = { recognizedOrigin: "device" };
    for (let n = 0; n < 10; n++) assert.equal(await attempt({ deviceId: "another" }), false);
    assert.equal(await attempt({ deviceId: "another" }, true), 1);
    for (let n = 0; n < 10; n++) assert.equal(await attempt(own), false);
    assert.equal(await attempt(own, true), 1);
    assert.equal(await attempt({ ...own, address: "10.0.0.2" }, true), true);
    assert.deepEqual(
      lockOuts.map(({ scope }) => scope),
      ["address", "origin"],
    );
  });

  it("no longer recognizes a device that guesses from many addresses, and does not lock out its owner", async () => {
    const { guard, attempt } = start();
    const own = { recognizedOrigin: "device" };
    for (let n = 0; n < 100; n++) assert.equal(await attempt({ ...own, address: `6.6.${n}.1` }), false);
    const recognized: boolean[] = [];
    const isRight = async (isRecognized: boolean) => recognized.push(isRecognized) > 0;
    assert.equal(await guard.check({ ...strange, ...own }, isRight), true);
    assert.deepEqual(recognized, [false]);
  });

  it("slows down an address that guesses for many names", async () => {
    const { attempt, advance } = start();
    for (let n = 0; n < 1_000; n++) assert.equal(await attempt({ nameKey: `name ${n}` }), false);
    assert.equal(await attempt({ nameKey: "another" }), 1);
    assert.equal(await attempt({ nameKey: "another", address: "10.0.0.2" }), false);
    advance(200);
    assert.equal(await attempt({ nameKey: "another" }, true), true);
    assert.equal(await attempt({ nameKey: "another" }), false);
  });

  // spec/limits#sign-ins-through-a-server
  it("counts the visitors of a server as one caller, or by their addresses if the server forwards them", async () => {
    const { attempt } = start();
    const known = { recognizedOrigin: "device" }; // has signed in through the server before
    for (let n = 0; n < 10; n++) assert.equal(await attempt({ ...known, nameKey: "guessed" }), false);
    assert.equal(await attempt({ ...known, nameKey: "guessed" }, true), 1);
    assert.equal(await attempt({ ...known, nameKey: "guessed", address: "10.0.0.2" }, true), true);
    for (let n = 0; n < 1_000; n++) assert.equal(await attempt({ nameKey: `name ${n}` }), false);
    assert.equal(await attempt({ nameKey: "new" }, true), 1);
    assert.equal(await attempt({ ...known, nameKey: "joan" }, true), true);
    assert.equal(await attempt({ nameKey: "new", address: "10.0.0.2" }, true), true);
  });

  it("counts all addresses of one IPv6 network as one", async () => {
    const { attempt } = start();
    for (let n = 0; n < 10; n++) assert.equal(await attempt({ address: `2001:db8:0:1::${n}` }), false);
    assert.equal(await attempt({ address: "2001:0DB8::1:ffff:1:2:3" }), 1);
    assert.equal(await attempt({ address: "2001:db8:0:2::1" }), false);
  });

  it("counts operators by name and address, separately from the users of every application", async () => {
    const { attempt } = start();
    const operator = { applicationId: undefined, deviceId: undefined, nameKey: "owner" };
    for (let n = 0; n < 10; n++) assert.equal(await attempt(operator), false);
    assert.equal(await attempt(operator, true), 1);
    assert.equal(await attempt({ nameKey: "owner" }), false);
  });

  it("counts the mark of an operator separately at every address, and treats a delayed one as unrecognized", async () => {
    const { attempt } = start();
    const operator = { applicationId: undefined, deviceId: undefined, nameKey: "owner" };
    for (let n = 0; n < 10; n++) assert.equal(await attempt(operator), false);
    for (let n = 0; n < 10; n++) {
      assert.equal(await attempt({ ...operator, recognizedOrigin: "mark", address: `7.7.7.${n}` }), false);
    }
    assert.equal(await attempt({ ...operator, recognizedOrigin: "mark" }, true), 1, "as without a mark");
    assert.equal(await attempt({ ...operator, recognizedOrigin: "mark", address: "7.7.7.7" }, true), true);
    assert.equal(await attempt({ ...operator, recognizedOrigin: "another mark" }, true), true);
  });

  it("does not count an attempt that fails before its password is checked", async () => {
    const { guard, attempt } = start();
    for (let n = 0; n < 50; n++)
      await assert.rejects(
        guard.check(strange, () => Promise.reject(new Error("x"))),
        /x/,
      );
    assert.equal(await attempt({}, true), true);
  });

  it("adds and removes no attempts when the clock is set back", async () => {
    const { attempt, advance } = start();
    for (let n = 0; n < 10; n++) assert.equal(await attempt({}), false);
    advance(-3_600_000);
    assert.equal(await attempt({}), 1);
    advance(3_600_000 + 1_000);
    assert.equal(await attempt({}), false);
  });
});
