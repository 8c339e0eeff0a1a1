import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Answer, assertError, assertResult, startTestApp, type TestApp } from "../../test/harness.ts";

let test: TestApp;
before(async () => {
  test = await startTestApp();
});
after(() => test.close());

const dayMs = 86_400_000;

function logOut(token: string, body: unknown = {}): Promise<Answer> {
  return test.call("POST /users/me/logout", { token, body });
}

function assertTokenEnded(answer: Answer): void {
  assertError(answer, 401, "AuthAccessTokenInvalid", 261, "Incorrect token type.");
}

describe("POST /users/me/logout: spec/users#log-out", () => {
  it("answers 200 with only a new token of the same device and its expiry", async () => {
    const { token, deviceToken } = await test.signUp();
    const answer = await logOut(token);
    const { accessToken } = answer.body.result;
    assertResult(answer, 200, { accessToken, accessTokenExpires: `/Date(${test.now() + 90 * dayMs})/` });
    assert.ok(accessToken !== token && accessToken !== deviceToken);
    const onUserRoute = await test.call("GET /users/me", { token: accessToken });
    assertError(onUserRoute, 403, "AuthUserAccessTokenRequired", 263);
    const devices = await test.app.database.reads.selectFrom("devices").select("id").execute();
    assert.equal(devices.length, 1);
  });

  it("returns a token that can log a user in again", async () => {
    const { token, userName, password, id } = await test.signUp();
    const deviceToken = (await logOut(token)).body.result.accessToken;
    const body = { username: userName, password };
    const again = await test.call("POST /users/login", { token: deviceToken, body });
    assert.equal(again.body.result.id, id);
  });

  it("revokes the token: the next request and a second logout answer 401 AuthAccessTokenInvalid", async () => {
    const { token } = await test.signUp();
    assert.equal((await test.call("GET /users/me", { token })).status, 200);
    await logOut(token);
    assertTokenEnded(await test.call("GET /users/me", { token }));
    assertTokenEnded(await logOut(token));
    assertTokenEnded(await test.call("POST /users", { token, body: { username: "Late", password: "correct" } }));
  });

  it("revokes neither the user's other tokens, nor other users' tokens, nor the device's own token", async () => {
    const { token, deviceToken, userName, password } = await test.signUp();
    const other = await test.signUp();
    const body = { username: userName, password };
    const second = (await test.call("POST /users/login", { token: deviceToken, body })).body.result.accessToken;
    await logOut(token);
    assert.equal((await test.call("GET /users/me", { token: second })).status, 200);
    assert.equal((await test.call("GET /users/me", { token: other.token })).status, 200);
    assert.equal((await test.call("POST /users/login", { token: deviceToken, body })).status, 200);
  });

  it("accepts an empty body, and ignores the content of any body", async () => {
    for (const body of ["", undefined, { token: 1, userID: [] }]) {
      const { token } = await test.signUp();
      assert.equal((await logOut(token, body)).status, 200);
      assertTokenEnded(await test.call("GET /users/me", { token }));
    }
  });

  it("answers 403 AuthUserAccessTokenRequired with a device token, which stays valid", async () => {
    const { deviceToken, userName, password } = await test.signUp();
    assertError(await logOut(deviceToken), 403, "AuthUserAccessTokenRequired", 263);
    const body = { username: userName, password };
    assert.equal((await test.call("POST /users/login", { token: deviceToken, body })).status, 200);
  });

  it("succeeds for at least one of ten concurrent logouts with one token; the others fail only because the token is revoked", async () => {
    const { token } = await test.signUp();
    const answers = await Promise.all(Array.from({ length: 10 }, () => logOut(token)));
    assert.ok(answers.some(({ status }) => status === 200));
    for (const answer of answers.filter(({ status }) => status !== 200)) assertTokenEnded(answer);
    assertTokenEnded(await test.call("GET /users/me", { token }));
  });
});
