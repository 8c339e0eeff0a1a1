import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import {
  type Answer,
  assertError,
  assertResult,
  startTestApp,
  type TestApp,
  type TestUser,
} from "../../test/harness.ts";

let test: TestApp;
/** Another process on the same database. */
let other: TestApp;
before(async () => {
  // On a busy machine, some changes would be refused while processes wait for the shared counters.
  test = await startTestApp({ RATE_LIMITS: "off" });
  other = await startTestApp({ RATE_LIMITS: "off", DATABASE_URL: test.config.databaseUrl });
});
after(async () => {
  await other.close();
  await test.close();
});

const old = "correct horse";

function change(token: string, body: Record<string, unknown>, app = test): Promise<Answer> {
  return app.call("PATCH /users/me", { token, body });
}

function logIn({ userName, deviceToken }: TestUser, password: string, app = test): Promise<Answer> {
  return app.call("POST /users/login", { token: deviceToken, body: { username: userName, password } });
}

async function tokenOf(user: TestUser, password = old): Promise<string> {
  const { status, body } = await logIn(user, password);
  assert.equal(status, 200);
  return body.result.accessToken;
}

/** Asserts that every process accepts the token, on a path that does not reload the user. */
async function assertAlive(token: string, apps: readonly TestApp[] = [test, other]): Promise<void> {
  for (const app of apps) assert.equal((await app.call("GET /checkins?pageSize=1", { token })).status, 200);
}

async function assertTokenEnded(token: string, apps: readonly TestApp[] = [test, other]): Promise<void> {
  for (const app of apps) {
    for (const operation of ["GET /checkins?pageSize=1", "GET /users/me", "POST /users/me/logout"]) {
      assertError(await app.call(operation, { token }), 401, "AuthAccessTokenInvalid", 261, "Incorrect token type.");
    }
  }
}

describe("PATCH /users/me with a password: spec/users#change-the-password", () => {
  it("answers 200 with the profile without the password; then the old password is wrong and the new one right", async () => {
    const user = await test.signUp();
    const { result: profile } = (await test.call("GET /users/me", { token: user.token })).body;
    test.advance(1_000);
    const answer = await change(user.token, { password: "a new one", currentPassword: old, firstName: "Jane" });
    assertResult(answer, 200, { ...profile, firstName: "Jane", lastModified: `/Date(${test.now()})/` });
    for (const app of [test, other]) {
      assertError(await logIn(user, old, app), 403, "AuthBadUsernameOrPassword", 262);
      assert.equal((await logIn(user, "a new one", app)).status, 200);
    }
    const again = await change(user.token, { password: old, currentPassword: old });
    assertError(again, 403, "AuthBadUsernameOrPassword", 262);
  });

  it("answers 400 ParameterMissingRequiredValue without currentPassword, 403 for an empty or a wrong one, and stores nothing", async () => {
    const user = await test.signUp();
    const second = await tokenOf(user);
    const { result: profile } = (await test.call("GET /users/me", { token: user.token })).body;
    const rule = "currentPassword is required with password.";
    for (const currentPassword of [undefined, null]) {
      const answer = await change(user.token, { password: "a new one", currentPassword, firstName: "Half written" });
      assertError(answer, 400, "ParameterMissingRequiredValue", 513, rule);
    }
    for (const currentPassword of ["", " ", "wrong", "Correct horse", `${old}\u200B`, "x".repeat(5_000)]) {
      const answer = await change(user.token, { password: "a new one", currentPassword, firstName: "Half written" });
      assertError(answer, 403, "AuthBadUsernameOrPassword", 262);
    }
    assertResult(await test.call("GET /users/me", { token: user.token }), 200, profile);
    await assertAlive(second);
    assert.equal((await logIn(user, old)).status, 200);
  });

  it("answers 400 ParameterOutOfRange for fewer than 4 or more than 1,024 characters, including the empty string", async () => {
    const user = await test.signUp();
    for (const [password, rule] of [
      ["", "password must have at least 4 characters."],
      ["👍👍👍", "password must have at least 4 characters."],
      [123, "password must have at least 4 characters."],
      ["x".repeat(1_025), "password must have at most 1024 characters."],
    ]) {
      const answer = await change(user.token, { password, currentPassword: old });
      assertError(answer, 400, "ParameterOutOfRange", 514, rule as string); // the second entry of each pair is the rule
    }
    assert.equal((await change(user.token, { password: 1234, currentPassword: old })).status, 200);
    assert.equal((await logIn(user, "1234")).status, 200);
  });

  it("changes nothing with currentPassword only, right or wrong", async () => {
    const user = await test.signUp();
    const second = await tokenOf(user);
    for (const currentPassword of [old, "wrong", ""]) {
      assert.equal((await change(user.token, { currentPassword })).status, 200);
    }
    await assertAlive(second);
    assert.equal((await logIn(user, old)).status, 200);
  });

  it("accepts both passwords in any Unicode form", async () => {
    const user = await test.signUp();
    await change(user.token, { password: "Pässwörd", currentPassword: old });
    const decomposed = "Pässwörd".normalize("NFD");
    assert.equal((await change(user.token, { password: decomposed, currentPassword: decomposed })).status, 200);
    assert.equal((await logIn(user, "Pässwörd")).status, 200);
  });
});

describe("the tokens of a user whose password was changed", () => {
  it("are refused, except the one that changed it, in every process and after a restart; other users' tokens stay valid", async () => {
    const user = await test.signUp();
    const bystander = await test.signUp();
    const others = [user.token, await tokenOf(user), (await logIn(user, old, other)).body.result.accessToken];
    const current = await tokenOf(user);
    for (const token of [...others, current]) await assertAlive(token); // caches the tokens
    await change(current, { password: "a new one", currentPassword: old }, other);
    for (const token of others) await assertTokenEnded(token);
    await assertAlive(current);
    await assertAlive(bystander.token);
    assert.equal((await test.call("POST /users/login", { token: user.deviceToken, body: {} })).status, 400);

    const restarted = await startTestApp({ DATABASE_URL: test.config.databaseUrl });
    for (const token of others) await assertTokenEnded(token, [restarted]);
    await assertAlive(current, [restarted]);
    await restarted.close();

    const fresh = await tokenOf(user, "a new one");
    await change(fresh, { password: old, currentPassword: "a new one" });
    await assertTokenEnded(current);
    for (const token of others) await assertTokenEnded(token);
    await assertAlive(fresh);
    const { pageResults } = (await test.call("GET /users/me/tokens", { token: fresh })).body.result;
    assert.equal(pageResults.length, 1);
  });

  it("stay revoked if they were revoked before", async () => {
    const user = await test.signUp();
    const ended = await tokenOf(user);
    await test.call("POST /users/me/logout", { token: ended });
    await change(user.token, { password: "a new one", currentPassword: old });
    await assertTokenEnded(ended);
  });
});

describe("PATCH /users/me with a password, concurrent with other requests", () => {
  it("succeeds for only one of several changes with one currentPassword, and only its token stays valid", async () => {
    const user = await test.signUp();
    const tokens = await Promise.all(Array.from({ length: 8 }, () => tokenOf(user)));
    const answers = await Promise.all(
      tokens.map((token, n) =>
        change(token, { password: `password ${n}`, currentPassword: old }, n % 2 === 0 ? test : other),
      ),
    );
    const winners = answers.flatMap(({ status }, n) => (status === 200 ? [n] : []));
    const [winner = -1] = winners;
    assert.equal(winners.length, 1);
    for (const [n, answer] of answers.entries()) {
      if (n === winner) continue;
      if (answer.status === 401) assertError(answer, 401, "AuthAccessTokenInvalid", 261, "Incorrect token type.");
      else assertError(answer, 403, "AuthBadUsernameOrPassword", 262);
      await assertTokenEnded(tokens[n] ?? "");
      assert.equal((await logIn(user, `password ${n}`)).status, 403);
    }
    await assertAlive(tokens[winner] ?? "");
    assert.equal((await logIn(user, `password ${winner}`)).status, 200);
    assert.equal((await logIn(user, old)).status, 403);
  });

  it("revokes the token of a concurrent login with the old password", async () => {
    for (let round = 0; round < 5; round++) {
      const user = await test.signUp();
      const [changed, ...logins] = await Promise.all([
        change(user.token, { password: "a new one", currentPassword: old }),
        ...Array.from({ length: 6 }, (_, n) => logIn(user, old, n % 2 === 0 ? test : other)),
      ]);
      assert.equal(changed.status, 200);
      await assertAlive(user.token);
      for (const { status, body } of logins) {
        assert.ok(status === 200 || status === 403);
        if (status === 200) await assertTokenEnded(body.result.accessToken);
      }
      assert.equal((await logIn(user, "a new one")).status, 200);
    }
  });

  it("preserves a concurrent rename", async () => {
    const user = await test.signUp();
    const second = await tokenOf(user);
    const [password, rename] = await Promise.all([
      change(user.token, { password: "a new one", currentPassword: old }),
      change(second, { username: `${user.userName} renamed`, tag: "kept" }, other),
    ]);
    assert.equal(password.status, 200);
    const { userName, tag } = (await test.call("GET /users/me", { token: user.token })).body.result;
    const expected = rename.status === 200 ? [`${user.userName} renamed`, "kept"] : [user.userName, undefined];
    assert.deepEqual([userName, tag], expected);
    assert.equal((await logIn({ ...user, userName }, "a new one")).status, 200);
  });
});
