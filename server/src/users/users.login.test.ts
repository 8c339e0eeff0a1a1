import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Answer, assertError, assertResult, startTestApp, type TestApp } from "../../test/harness.ts";
import { createPasswords } from "../auth/passwords.ts";

let test: TestApp;
let deviceToken: string;
before(async () => {
  test = await startTestApp();
  deviceToken = await test.registerDevice();
});
after(() => test.close());

const dayMs = 86_400_000;

function logIn(username: unknown, password: unknown, token = deviceToken, app = test): Promise<Answer> {
  return app.call("POST /users/login", { token, body: { username, password } });
}

describe("POST /users/login: spec/users#log-in", () => {
  it("answers 200 with the same fields as at creation, a new token, its expiry and the time of this login", async () => {
    const body = { username: "Jane", password: "correct horse", email: "jane@example.com", firstName: "Jane" };
    const created = (await test.call("POST /users", { token: deviceToken, body })).body.result;
    test.advance(1_000);
    const answer = await logIn("Jane", "correct horse");
    const { accessToken } = answer.body.result;
    assert.notEqual(accessToken, created.accessToken);
    assertResult(answer, 200, {
      ...created,
      lastLogin: `/Date(${test.now()})/`,
      accessToken,
      accessTokenExpires: `/Date(${test.now() + 30 * dayMs})/`,
    });
    const { accessToken: _, accessTokenExpires: __, ...profile } = answer.body.result;
    assertResult(await test.call("GET /users/me", { token: accessToken }), 200, profile);
  });

  it("issues tokens that are valid concurrently, for one user or several", async () => {
    const jack = await test.signUp("Jack");
    const jill = await test.signUp("Jill");
    const again = (await logIn("Jack", jack.password)).body.result.accessToken;
    for (const [token, userName] of [
      [jack.token, "Jack"],
      [again, "Jack"],
      [jill.token, "Jill"],
    ]) {
      assert.equal((await test.call("GET /users/me", { token })).body.result.userName, userName);
    }
  });

  it("accepts a user token as well as a device token", async () => {
    const jim = await test.signUp("Jim");
    const { token } = await test.signUp();
    assert.equal((await logIn("Jim", jim.password, token)).body.result.id, jim.id);
  });

  it("matches the name in any case and Unicode form, and the password in any Unicode form but only its own case", async () => {
    const body = { username: "Zoë Straße", password: "Pässwörd" };
    const created = (await test.call("POST /users", { token: deviceToken, body })).body.result;
    for (const username of ["zoë strasse", "ZOE\u0308 STRASSE"]) {
      for (const password of ["Pässwörd", "Pässwörd".normalize("NFD")]) {
        assert.equal((await logIn(username, password)).body.result.id, created.id);
      }
    }
    assert.equal((await logIn("Zoë Straße", "pässwörd")).status, 403);
  });
});

describe("POST /users/login: spec/errors#credential-errors", () => {
  it("answers 403 AuthBadUsernameOrPassword without a message, identically for an unknown user and a wrong password", async () => {
    await test.signUp("Known");
    for (const [username, password] of [
      ["Known", "wrong"],
      ["Known", ""],
      ["Known", "correct horse "],
      ["Known", "x"],
      ["Unknown", "correct horse"],
      ["Unknown", ""],
      ["%", "correct horse"],
      ["Know_", "correct horse"],
      ["' or ''='", "correct horse"],
      ["Known\0", "correct horse"],
      ["Known\ud83d", "correct horse"],
      ["Known", "correct horse\0"],
      ["Known", "correct horse\ud83d"],
    ]) {
      assertError(await logIn(username, password), 403, "AuthBadUsernameOrPassword", 262);
    }
  });

  it("answers 403 for a user of another application", async () => {
    const { userName, password } = await test.signUp("Elsewhere", await test.createApplication());
    assertError(await logIn(userName, password), 403, "AuthBadUsernameOrPassword", 262);
  });

  it("hashes as much for an unknown user as for a wrong password", async (t) => {
    const app = await startTestApp({ PASSWORD_HASH_MEMORY_KIB: "16384", PASSWORD_HASH_PASSES: "2" });
    t.after(() => app.close());
    const { userName, deviceToken: token } = await app.signUp();
    const processorTimes = { known: [] as number[], unknown: [] as number[] };
    for (let n = 0; n < 7; n++) {
      for (const [kind, username] of [["known", userName] as const, ["unknown", "Nobody"] as const]) {
        const before = process.cpuUsage();
        assert.equal((await logIn(username, "wrong", token, app)).status, 403);
        const { user, system } = process.cpuUsage(before);
        processorTimes[kind].push(user + system);
      }
    }
    // Compares processor time with a wide margin: without the hash an unknown user would cost a tenth.
    const ratio = median(processorTimes.unknown) / median(processorTimes.known);
    assert.ok(ratio > 0.6 && ratio < 1.6, `unknown costs ${ratio} of known`);
  });

  it("answers 400 ParameterMissingRequiredValue without username or password", async () => {
    for (const username of [undefined, null, ""]) {
      const answer = await logIn(username, "correct horse");
      assertError(answer, 400, "ParameterMissingRequiredValue", 513, "username is required.");
    }
    for (const password of [undefined, null]) {
      const answer = await logIn("Known", password);
      assertError(answer, 400, "ParameterMissingRequiredValue", 513, "password is required.");
    }
  });

  it("answers 400 ParameterIncorrectFormat for an object, an array or a boolean in place of text", async () => {
    for (const value of [{}, { $ne: "" }, ["x"], true]) {
      const asName = await logIn(value, "correct horse");
      assertError(asName, 400, "ParameterIncorrectFormat", 515, "username must be a text.");
      const asPassword = await logIn("Known", value);
      assertError(asPassword, 400, "ParameterIncorrectFormat", 515, "password must be a text.");
    }
  });
});

describe("POST /users/login after the cost of passwords was raised", () => {
  async function storedHash(userName: string): Promise<string> {
    const row = await test.app.database.reads
      .selectFrom("users")
      .select("password_hash")
      .where("user_name", "=", userName)
      .executeTakeFirstOrThrow();
    return row.password_hash;
  }

  it("verifies an old hash, and only the right password upgrades it", async (t) => {
    const { userName, password } = await test.signUp("Old Hash");
    const oldHash = await storedHash(userName);
    assert.match(oldHash, /^\$argon2id\$v=19\$m=8,t=1,p=1\$/);

    const raised = await startTestApp({ DATABASE_URL: test.config.databaseUrl, PASSWORD_HASH_PASSES: "3" });
    t.after(() => raised.close());
    assert.equal((await logIn(userName, "wrong", deviceToken, raised)).status, 403);
    assert.equal(await storedHash(userName), oldHash);

    assert.equal((await logIn(userName, password, deviceToken, raised)).status, 200);
    const newHash = await storedHash(userName);
    assert.match(newHash, /^\$argon2id\$v=19\$m=8,t=3,p=1\$/);

    assert.equal((await logIn(userName, password, deviceToken, raised)).status, 200);
    assert.equal(await storedHash(userName), newHash);
    assert.equal((await logIn(userName, "wrong", deviceToken, raised)).status, 403);
  });

  it("succeeds for all concurrent logins of one user with an old hash", async (t) => {
    const { userName, password } = await test.signUp("Old Hash At Once");
    const raised = await startTestApp({ DATABASE_URL: test.config.databaseUrl, PASSWORD_HASH_PASSES: "3" });
    t.after(() => raised.close());
    const answers = await Promise.all(Array.from({ length: 20 }, () => logIn(userName, password, deviceToken, raised)));
    assert.deepEqual(
      answers.map(({ status }) => status),
      Array(20).fill(200),
    );
  });
});

describe("POST /users/login while the password is being changed", () => {
  it("accepts the password that was valid when the login began, but its token is refused", async (t) => {
    const slow = await startTestApp({ PASSWORD_HASH_MEMORY_KIB: "65536", PASSWORD_HASH_PASSES: "2" });
    t.after(() => slow.close());
    const { id, userName, password, deviceToken: token, token: userToken } = await slow.signUp();
    const [before] = await slow.app.database.reads.selectFrom("users").select("password_hash").execute();
    assert.ok(before);
    const changed = await createPasswords(test.config, test.app.database).hash("another password", {
      lane: "user",
      application: "app",
      caller: "caller",
    });
    async function setPassword(password_hash: string, token_version: number): Promise<void> {
      await slow.app.database.write(({ queries }) =>
        queries
          .updateTable("users")
          .set({ password_hash, token_version })
          .where("application_id", "=", slow.application.appid)
          .where("id", "=", id)
          .execute(),
      );
    }

    for (let attempt = 0; attempt < 10; attempt++) {
      await setPassword(before.password_hash, 0);
      const login = logIn(userName, password, token, slow);
      // As many queries as a login makes before it hashes, which takes a while.
      await slow.call("GET /users/me", { token: userToken });
      await setPassword(changed, 1);
      const answer = await login;
      if (answer.status === 403) continue; // the change came first
      assert.equal(answer.status, 200);
      const use = await slow.call("GET /users/me", { token: answer.body.result.accessToken });
      assertError(use, 401, "AuthAccessTokenInvalid", 261, "Incorrect token type.");
      return;
    }
    assert.fail("no login was ever under way when the password was changed");
  });
});

function median(numbers: number[]): number {
  return numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}
