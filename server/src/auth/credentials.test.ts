import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { sql } from "kysely";
import { openRaw, send, startTestApp } from "../../test/harness.ts";

describe("secrets: spec/authentication#application-credentials, spec/authentication#tokens", () => {
  it("no log line contains a token, a password, a hash or an application key", async (t) => {
    const test = await startTestApp({ LOG_LEVEL: "trace" });
    t.after(() => test.close());
    const { application } = test;
    const user = await test.signUp();
    const { token, deviceToken, userName: username, password } = user;
    const wrong = "a-wrong-password-to-look-for";
    const wrongKey = "a-key-that-is-wrong";
    const secrets = [application.appkey, wrongKey, deviceToken, token, password, wrong, "$argon2"];

    const login = { username, password };
    secrets.push((await test.call("POST /users/login", { token, body: login })).body.result.accessToken);
    await test.call("POST /users/login", { token: deviceToken, body: { username, password: wrong } });
    await test.call("POST /users/login", { token: deviceToken, body: { username: wrong, password: wrong } });
    await test.call("POST /users", { token: deviceToken, body: login });
    await test.call("POST /users", { token: deviceToken, body: { username: {}, password: wrong } });
    await test.call("POST /users", { token: deviceToken, body: `{"password":"${wrong}"` });
    await test.call("POST /devices", { body: { ...application, appkey: wrongKey, platform: "test" } });
    await test.call("POST /devices", { body: { ...application, appid: "malformed", platform: "test" } });
    await test.call(`GET /users/me?accessToken=${token}`, { token });
    await test.call(`GET /users/me?accessToken=${token}`);
    await test.call(`GET /nowhere?accessToken=${token}&password=${wrong}`, { token: `${token}x` });
    await test.call(`GET /checkins?pagingToken=${token}`, { token });
    await send(test.port, "GET", `/checkins/%zz?accessToken=${token}`, { token });
    const broken = openRaw(test.port);
    broken.write(`GET /users/me?accessToken=${token} HTTP/1.1\r\nAuthorization: Service ${token}\r\nbro ken\r\n\r\n`);
    assert.equal((await broken.receive())?.status, 400);
    secrets.push((await test.call("POST /users/me/logout", { token })).body.result.accessToken);
    await test.call("GET /users/me", { token });

    // Also when the database fails during a request.
    await test.app.database.write(({ queries }) => sql`alter table users rename to users_away`.execute(queries));
    const failing = await send(test.port, "POST", "/users/login", { token: deviceToken, body: login });
    assert.equal(failing.status, 500);
    const body = { username: "new", password: wrong };
    assert.equal((await send(test.port, "POST", "/users", { token: deviceToken, body })).status, 500);

    const log = JSON.stringify(test.logLines);
    assert.ok(test.logLines.some(({ msg }) => msg === "request failed"));
    assert.ok(test.logLines.length >= 20);
    for (const secret of secrets) {
      // Not even half of a secret may appear.
      const middle = Math.floor(secret.length / 2);
      for (const part of [secret, secret.slice(0, 12), secret.slice(-12), secret.slice(middle, middle + 12)]) {
        assert.ok(!log.includes(part), `the log holds ${part}`);
      }
    }
  });

  it("a refusal is logged with its request_id, operation and condition", async (t) => {
    const test = await startTestApp();
    t.after(() => test.close());
    const { body } = await test.call("GET /users/me", { token: "garbage" });
    const line = test.logLines.find(({ request_id }) => request_id === body.request_id);
    const { operation, status, error, path, user } = line ?? {};
    assert.deepEqual(
      { operation, status, error, path, user },
      { operation: "getOwnUser", status: 401, error: "AuthAccessTokenInvalid", path: "/users/me", user: undefined },
    );
  });
});
