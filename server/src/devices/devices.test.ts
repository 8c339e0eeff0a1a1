import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { assertError, assertResult, startTestApp, type TestApp } from "../../test/harness.ts";

let test: TestApp;
before(async () => {
  test = await startTestApp();
});
after(() => test.close());

const dayMs = 86_400_000;
const wrongCredentials = "The application id or the application key is wrong. Check the values of appid and appkey.";

function register(body: Record<string, unknown> = {}) {
  return test.call("POST /devices", { body: { ...test.application, platform: "test", ...body } });
}

async function devicesWith(uniqueId: string) {
  const rows = test.app.database.reads.selectFrom("devices").selectAll().where("unique_id", "=", uniqueId);
  return (await rows.execute()).map((row) => ({ ...row }));
}

describe("POST /devices: spec/devices#register", () => {
  it("answers 201 with a device token that expires after 90 days, and without a serviceRoot in the main region", async () => {
    const answer = await register({ uniqueId: "a phone" });
    const { accessToken } = answer.body.result;
    assertResult(answer, 201, { accessToken, accessTokenExpires: `/Date(${test.now() + 90 * dayMs})/` });
    // No %, space or quote, because clients put tokens into URLs and headers (spec/transport#absolute-urls).
    assert.match(accessToken, /^[\w.-]+$/);
  });

  it("uses the configured lifetime of tokens", async (t) => {
    const short = await startTestApp({ DEVICE_TOKEN_LIFETIME_MS: "60000" });
    t.after(() => short.close());
    const answer = await short.call("POST /devices", { body: { ...short.application, platform: "test" } });
    assert.equal(answer.body.result.accessTokenExpires, `/Date(${short.now() + 60_000})/`);
  });

  it("returns a token that can create and log in users", async () => {
    const token = (await register()).body.result.accessToken;
    const body = { username: "first", password: "correct horse" };
    assert.equal((await test.call("POST /users", { token, body })).status, 200);
    assert.equal((await test.call("POST /users/login", { token, body })).status, 200);
  });

  it("neither requires nor checks the Authorization header", async () => {
    const body = { ...test.application, platform: "test" };
    for (const authorization of ["Service garbage", "", "Basic dTpw"]) {
      assert.equal((await test.call("POST /devices", { body, headers: { authorization } })).status, 201, authorization);
    }
  });

  it("matches names case-insensitively, and ignores null and unknown members", async () => {
    const { appid, appkey } = test.application;
    const body = {
      AppID: appid,
      appKey: appkey,
      PLATFORM: "test",
      uniqueID: null,
      MODEL: null,
      user: { any: "thing" },
    };
    assert.equal((await test.call("POST /devices", { body })).status, 201);
  });

  it("fields that the service sets are ignored, whatever their type", async () => {
    const sent = { id: "dev_mine", created: [], accessToken: {}, token_version: 7, application_id: "app_other" };
    const answer = await register({ ...sent, uniqueId: "server fields" });
    assert.equal(answer.status, 201);
    const [device] = await devicesWith("server fields");
    const { id, key_id, ...rest } = device ?? {};
    assert.notEqual(id, sent.id);
    assert.match(`${key_id}`, /^apk_/);
    assert.deepEqual(rest, {
      application_id: test.application.appid,
      unique_id: "server fields",
      platform: "test",
      token_version: 0,
      created_at: test.now(),
      modified_at: test.now(),
      model: null,
      os_version: null,
      app_version: null,
      push_token: null,
      push_token_by: null,
      connection_type: null,
      is_production: null,
      tag: null,
      lat: null,
      lng: null,
      registered_at: test.now(),
      last_seen_at: test.now(),
    });
  });
});

describe("POST /devices: spec/devices#register-again", () => {
  it("returns the same device for the same uniqueId, and its earlier token stays valid", async () => {
    const first = (await register({ uniqueId: "again", platform: "one" })).body.result.accessToken;
    const second = (await register({ uniqueId: "again", platform: "two" })).body.result.accessToken;
    assert.notEqual(first, second);
    const devices = await devicesWith("again");
    assert.equal(devices.length, 1);
    assert.equal(devices[0]?.platform, "two");
    for (const token of [first, second]) {
      const body = { username: "nobody", password: "wrong" };
      assert.equal((await test.call("POST /users/login", { token, body })).status, 403);
    }
  });

  it("reads a numeric uniqueId as its decimal string", async () => {
    await register({ uniqueId: 1234567890123456789n.toString() });
    const { appid, appkey } = test.application;
    const body = `{"appid":"${appid}","appkey":"${appkey}","platform":"test","uniqueId":1234567890123456789}`;
    assert.equal((await test.call("POST /devices", { body })).status, 201);
    assert.equal((await devicesWith("1234567890123456789")).length, 1);
  });

  it("gives concurrent registrations with equal, different and no uniqueIds tokens of the right devices", async () => {
    const uniqueIds = Array.from({ length: 60 }, (_, index) => (index % 3 === 0 ? undefined : `mixed ${index % 10}`));
    const tokens = await Promise.all(uniqueIds.map((uniqueId) => register({ uniqueId, tag: `${uniqueId}` })));
    const ids = new Map<string, string>();
    for (const [index, { body }] of tokens.entries()) {
      const { accessToken: token } = body.result;
      const device = (await test.call("GET /devices/current", { token })).body.result;
      assert.equal(device.tag, `${uniqueIds[index]}`);
      const uniqueId = uniqueIds[index] ?? `none ${index}`;
      assert.equal(ids.get(uniqueId) ?? device.id, device.id, uniqueId);
      ids.set(uniqueId, device.id);
    }
    assert.equal(new Set(ids.values()).size, ids.size);
  });

  it("a hundred concurrent registrations of one uniqueId create one device, and all their tokens work", async () => {
    const answers = await Promise.all(Array.from({ length: 100 }, () => register({ uniqueId: "storm" })));
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [201]);
    assert.equal((await devicesWith("storm")).length, 1);
    const body = { username: "nobody" };
    const uses = answers.map((answer) =>
      test.call("POST /users/login", { token: answer.body.result.accessToken, body }),
    );
    assert.deepEqual(
      [...new Set((await Promise.all(uses)).map((use) => use.body.error))],
      ["ParameterMissingRequiredValue"],
    );
  });

  it("creates another device for the same uniqueId in another application", async () => {
    const other = await test.createApplication();
    await register({ uniqueId: "shared" });
    await register({ uniqueId: "shared", ...other });
    const devices = await devicesWith("shared");
    assert.deepEqual(devices.map((device) => device.application_id).sort(), [test.application.appid, other.appid]);
    assert.equal(new Set(devices.map(({ id }) => id)).size, 2);
  });

  it("creates a device at every registration whose uniqueId is absent, null or an empty string", async () => {
    const other = await test.createApplication();
    for (const body of [{}, { uniqueId: null }, { uniqueId: "" }]) await register({ ...other, ...body });
    const devices = await test.app.database.reads
      .selectFrom("devices")
      .select("unique_id")
      .where("application_id", "=", other.appid)
      .execute();
    assert.deepEqual(
      devices.map((device) => device.unique_id),
      [null, null, null],
    );
  });
});

describe("POST /devices: spec/devices#registration-errors", () => {
  it("answers an identical 401 AuthAppCredentialsInvalid for a wrong key, a foreign key and an unknown application", async () => {
    const other = await test.createApplication();
    const { appid, appkey } = test.application;
    for (const body of [
      { appkey: "wrong" },
      { appkey: `${appkey}x` },
      { appkey: appkey.slice(0, -1) },
      { appkey: ` ${appkey}` },
      { appkey: appkey.toUpperCase() },
      { appkey: `${appkey}\0` },
      { appkey: "\ud800" },
      { appkey: other.appkey },
      { appid: other.appid },
      { appid: `${appid.slice(0, -13)}0000000000000` },
    ]) {
      assertError(await register(body), 401, "AuthAppCredentialsInvalid", 261, wrongCredentials);
    }
  });

  it("answers 401 ParameterOutOfRange when the application id is malformed or of another kind", async () => {
    const { appid } = test.application;
    const { id } = await test.signUp();
    const texts = ["42", "app_", `${appid}x`, appid.slice(1), appid.toUpperCase(), id, "' or 1=1 --", "%"];
    for (const wrong of [...texts, `${appid}\0`, "\ud800", 42, 0.5, true, false, {}, [], [appid], { appid }]) {
      const answer = await register({ appid: wrong });
      assertError(answer, 401, "ParameterOutOfRange", 514, "Incorrect id type, expected App.");
    }
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const body = `appid=%ff&appkey=${test.application.appkey}&platform=test`;
    const answer = await test.call("POST /devices", { headers, body });
    assertError(answer, 401, "ParameterOutOfRange", 514, "Incorrect id type, expected App.");
  });

  it("answers 400 ParameterMissingRequiredValue when appid, appkey or platform is absent, null or empty", async () => {
    for (const name of ["appid", "appkey", "platform"]) {
      for (const value of [undefined, null, ""]) {
        const answer = await register({ [name]: value });
        assertError(answer, 400, "ParameterMissingRequiredValue", 513, `${name} is required.`);
      }
    }
  });

  it("answers 400 ParameterIncorrectFormat for an object, an array or a boolean where text is expected", async () => {
    for (const name of ["appkey", "platform", "uniqueId"]) {
      for (const value of [{}, [], ["x"], true, { toString: "x" }]) {
        assertError(await register({ [name]: value }), 400, "ParameterIncorrectFormat", 515, `${name} must be a text.`);
      }
    }
  });

  it("answers 400 ParameterOutOfRange for a string of more than 256 characters", async () => {
    for (const name of ["platform", "uniqueId"]) {
      assert.equal((await register({ [name]: "𝒳".repeat(256) })).status, 201);
      const answer = await register({ [name]: "x".repeat(257) });
      assertError(answer, 400, "ParameterOutOfRange", 514, `${name} must have at most 256 characters.`);
    }
  });

  it("stores nothing of a refused registration", async () => {
    await register({ appkey: "wrong", uniqueId: "refused" });
    await register({ platform: null, uniqueId: "refused" });
    assert.deepEqual(await devicesWith("refused"), []);
  });
});

describe("application credentials: spec/authentication#application-credentials", () => {
  it("are valid on POST /devices only", async () => {
    const { appid, appkey } = test.application;
    for (const token of [appid, appkey]) {
      const answer = await test.call("POST /users", { token, body: { username: "x", password: "correct" } });
      assertError(answer, 401, "AuthAccessTokenInvalid", 261, "Incorrect token type.");
    }
  });

  it("are stored as a digest of the key only", async () => {
    const keys = await test.app.database.reads.selectFrom("application_keys").selectAll().execute();
    assert.ok(keys.length > 0);
    assert.ok(!JSON.stringify(keys).includes(test.application.appkey));
    for (const { digest } of keys) assert.match(digest, /^[0-9a-f]{64}$/);
  });
});
