import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Answer, assertError, assertResult, startTestApp, type TestApp } from "../../test/harness.ts";

let test: TestApp;
let operator: string;
before(async () => {
  test = await startTestApp();
  operator = (await test.createOperator()).token;
});
after(() => test.close());

function ask(operation: string, application = test.application): Promise<Answer> {
  const [method, path] = operation.split(" ");
  const body = method === "POST" ? { body: {} } : {};
  return test.call(`${method} /_/api/applications/${application.appid}${path}`, { token: operator, ...body });
}

const date = (ms: number) => `/Date(${ms})/`;

interface Registered {
  readonly id: string;
  readonly token: string;
}

async function register(reported: object, application = test.application): Promise<Registered> {
  const body = { ...application, platform: "iOS", ...reported };
  const token = (await test.call("POST /devices", { body })).body.result.accessToken;
  return { id: (await test.call("GET /devices/current", { token })).body.result.id, token };
}

// spec/operators#operator-views, spec/operators#disabled-users
describe("devices of an application, for operators", () => {
  it("are found by unique id, platform, tag, key and creation; all filters are exact and literal", async () => {
    const application = await test.createApplication();
    const devices: Registered[] = [];
    for (const reported of [{ uniqueId: "u1", tag: "a" }, { platform: "100%", tag: "__proto__" }, { tag: "a_" }]) {
      test.advance(1_000);
      devices.push(await register(reported, application));
    }
    const [first, second, third] = devices.map(({ id }) => id);
    const find = async (query: string) => {
      const { status, body } = await ask(`GET /devices?${query}`, application);
      assert.equal(status, 200, query);
      return body.result.pageResults.map(({ id }: { id: string }) => id);
    };
    assert.deepEqual(await find(""), [third, second, first]);
    assert.deepEqual(await find("sortOrder=created"), [first, second, third]);
    assert.deepEqual(await find("uniqueId=u1"), [first]);
    assert.deepEqual(await find("uniqueId=u%25"), []);
    assert.deepEqual(await find("platform=100%25"), [second]);
    assert.deepEqual(await find("platform=iOS&sortOrder=created"), [first, third]);
    assert.deepEqual(await find("platform=ios"), []);
    assert.deepEqual(await find("tag=__proto__"), [second]);
    assert.deepEqual(await find("tag=a_"), [third]);
    assert.deepEqual(await find(`created=${test.now() - 1_500}-`), [third, second]);
    const { keyID } = (await ask(`GET /devices/${first}`, application)).body.result;
    assert.deepEqual(await find(`keyId=${keyID}&sortOrder=created`), [first, second, third]);
    assert.deepEqual(await find(`keyId=${test.app.ids.newId("ApplicationKey")}`), []);
    for (const name of ["uniqueId", "platform", "tag"]) {
      const answer = await ask(`GET /devices?${name}=${"x".repeat(257)}`, application);
      assertError(answer, 400, "ParameterOutOfRange", 514, `${name} must have at most 256 characters.`);
    }
    test.advance(1_000);
    await test.call("PATCH /devices/current", { token: devices[0]?.token ?? "", body: { model: "M" } });
  });

  it("are found by app version and by signed-in user; a device lists each of its users once", async () => {
    const application = await test.createApplication();
    const { id, token } = await register({ appVersion: "1.0", uniqueId: "shared" }, application);
    const other = await register({ appVersion: "1.1" }, application);
    const password = "correct horse";
    const users: string[] = [];
    for (const username of ["Jane", "John"]) {
      const created = await test.call("POST /users", { token, body: { username, password } });
      users.push(created.body.result.id);
    }
    for (const each of [token, other.token]) {
      const body = { username: "Jane", password };
      assert.equal((await test.call("POST /users/login", { token: each, body })).status, 200);
    }
    const list = async (path: string) => {
      const { status, body } = await ask(`GET ${path}`, application);
      assert.equal(status, 200, path);
      return body.result.pageResults.map((each: { id: string }) => each.id);
    };
    const [jane, john] = users;
    assert.deepEqual(await list("/devices?appVersion=1.1"), [other.id]);
    assert.deepEqual((await list(`/devices?userID=${jane}`)).toSorted(), [id, other.id].toSorted());
    assert.deepEqual(await list(`/devices?userID=${john}&appVersion=1.1`), []);
    assert.deepEqual((await list(`/users/${jane}/devices`)).toSorted(), [id, other.id].toSorted());
    assert.deepEqual(await list(`/users/${john}/devices`), [id]);
    assert.deepEqual(await list(`/devices/${id}/users`), users.toSorted());
    assert.deepEqual(await list(`/devices/${other.id}/users`), [jane]);
    const { nextToken } = (await ask(`GET /devices/${id}/users?pageSize=1`, application)).body.result;
    assert.deepEqual(await list(`/devices/${id}/users?pagingToken=${nextToken}`), [users.toSorted()[1]]);
  });

  it("are listed with the user whose token was used last, and with the number of users with valid tokens", async () => {
    const application = await test.createApplication();
    const shared = await register({ uniqueId: "kiosk" }, application);
    await register({ uniqueId: "free" }, application);
    const password = "correct horse";
    const tokens: string[] = [];
    for (const username of ["Jane", "John"]) {
      test.advance(1_000);
      const body = { username, password };
      const { result } = (await test.call("POST /users", { token: shared.token, body })).body;
      tokens.push(result.accessToken);
    }
    const list = async () => {
      const { pageResults } = (await ask("GET /devices?include=users&sortOrder=created", application)).body.result;
      return pageResults.map(({ signedIn }: { signedIn?: { userName: string; users: number } }) =>
        signedIn === undefined ? "free" : `${signedIn.userName} of ${signedIn.users}`,
      );
    };
    assert.deepEqual(await list(), ["John of 2", "free"]);
    const [jane = "", john = ""] = tokens;
    assert.equal((await test.call("POST /users/me/logout", { token: john, body: {} })).status, 200);
    assert.deepEqual(await list(), ["Jane of 1", "free"]);
    const { pageResults } = (await ask("GET /devices", application)).body.result;
    assert.ok(pageResults.every((device: object) => !("signedIn" in device)));
    const me = (await test.call("GET /users/me", { token: jane })).body.result;
    assert.equal((await ask(`POST /users/${me.id}/revoke-tokens`, application)).status, 200);
    assert.deepEqual(await list(), ["free", "free"]);
    assertError(
      await ask("GET /devices?include=keys"),
      400,
      "ParameterIncorrectFormat",
      515,
      "include must be one of users.",
    );
  });

  it("are returned with all reported fields, their last registration and its key", async () => {
    const { id } = await register({ model: "M1", tag: "\u202Ea\u0301𝒳", location: "1,2", isProduction: true });
    const keys = await test.app.database.reads
      .selectFrom("application_keys")
      .select("id")
      .where("application_id", "=", test.application.appid)
      .execute();
    const now = date(test.now());
    assertResult(await ask(`GET /devices/${id}`), 200, {
      ...{ id, platform: "iOS", model: "M1", tag: "\u202Ea\u0301𝒳", location: { lat: 1, lng: 2 }, isProduction: true },
      ...{ created: now, lastModified: now, keyID: keys[0]?.id, registered: now, lastSeen: now },
    });
  });

  it("revocation invalidates the device's token and its users' tokens in every process, and the device can register again", async () => {
    const other = await startTestApp({ DATABASE_URL: test.config.databaseUrl });
    try {
      const [jane, john] = [await test.signUp(), await test.signUp()];
      const { deviceID } = (await test.call("GET /users/me/tokens", { token: jane.token })).body.result.pageResults[0];
      const statuses = (app: TestApp) =>
        Promise.all(
          [jane.token, jane.deviceToken, john.token].map(
            async (token) => (await app.call("GET /devices/current", { token })).status,
          ),
        );
      for (const app of [test, other]) assert.deepEqual(await statuses(app), [200, 200, 200]);
      assertResult(await ask(`POST /devices/${deviceID}/revoke-tokens`), 200, true);
      for (const app of [other, test]) assert.deepEqual(await statuses(app), [401, 401, 200]);
    } finally {
      await other.close();
    }
    const body = { uniqueId: "revoked" };
    const device = await register(body);
    await ask(`POST /devices/${device.id}/revoke-tokens`);
    assert.equal((await register(body)).id, device.id);
  });

  it("get 404 if they are of other applications, and no token is revoked", async () => {
    const { id, token } = await register({}, await test.createApplication());
    for (const operation of [`GET /devices/${id}`, `POST /devices/${id}/revoke-tokens`]) {
      assertError(await ask(operation), 404, "ItemDoesNotExist", 769, "The item does not exist.");
    }
    assert.equal((await test.call("GET /devices/current", { token })).status, 200);
  });
});
