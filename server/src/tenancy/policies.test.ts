import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { assertError, startTestApp, type TestApp } from "../../test/harness.ts";
import { dataPart, download, png, upload } from "../../test/uploads.ts";
import { type NewApplication, updateApplication } from "../applications/applications.store.ts";
import { type ApplicationSettings, updateApplicationSettings } from "./application-settings.ts";
import { createPolicies, updateSigningSecret } from "./policies.ts";

let test: TestApp;
/** Another process on the same database, which changes the settings. */
let other: TestApp;
before(async () => {
  test = await startTestApp();
  other = await startTestApp({ DATABASE_URL: test.config.databaseUrl });
});
after(async () => {
  await other.close();
  await test.close();
});

async function configure({ appid }: NewApplication, settings: Partial<ApplicationSettings>): Promise<void> {
  await other.app.database.write(({ queries }) => updateApplicationSettings(appid, { oidc: {}, ...settings }, queries));
}

async function setApplication(appid: string, values: { suspended_at: number | null }): Promise<void> {
  await other.app.database.write(({ queries }) => updateApplication(appid, values, queries));
}

const disabled = [
  403,
  "AuthAPICallDisabledByDeveloper",
  257,
  "This operation is disabled for the application.",
] as const;

describe("disabled operations: spec/operators#disabled-operations", () => {
  it("are refused from the next request on, in another process too, and for that application only", async () => {
    const application = await test.createApplication();
    const { token } = await test.signUp("Jane", application);
    const neighbour = await test.signUp();
    const find = (each: string) => test.call("GET /checkins", { token: each });
    assert.equal((await find(token)).status, 200);
    await configure(application, { disabledOperations: ["get /checkins/", "POST /users/login"] });
    assertError(await find(token), ...disabled);
    assert.equal((await find(neighbour.token)).status, 200);
    assert.equal((await test.call("POST /checkins", { token, body: { location: "1,2" } })).status, 201);
    await configure(application, {});
    assert.equal((await find(token)).status, 200);
  });

  it("are refused before parameters are validated, in a batch too, under every spelling", async () => {
    const application = await test.createApplication();
    const { token } = await test.signUp("Jane", application);
    await configure(application, { disabledOperations: ["GET /users/me", "PATCH /users/{anybody}", "POST /checkins"] });
    assertError(await test.call("GET /users/ME", { token }), ...disabled);
    assertError(await test.call("PATCH /users/me", { token, body: { gender: "nonsense" } }), ...disabled);
    assertError(await test.call("POST /checkins", { token }), ...disabled);
    assert.equal((await test.call("GET /users", { token })).status, 200);
    const calls = [
      { method: "POST", path: "//checkins/", parameters: { location: "1,2" } },
      { method: "GET", path: "/users/%6de" },
    ];
    const batch = await test.call("POST /batch", { token, body: { requests: calls } });
    assert.deepEqual(
      batch.body.result?.responses.map(({ error }: { error: string }) => error),
      [disabled[1], disabled[1]],
      batch.text,
    );
  });

  it("match the id of the caller, and no other id, if they are written with me, current or app", async () => {
    const application = await test.createApplication();
    const { appid } = application;
    const [jane, joan] = [await test.signUp("Jane", application), await test.signUp("Joan", application)];
    const [{ id: device } = {}] = await test.app.database.reads
      .selectFrom("devices")
      .select("id")
      .where("application_id", "=", appid)
      .orderBy("id")
      .execute(); // Jane's, the first one
    const ways = [
      ["GET /users/me", `/users/${jane.id}`],
      [`GET /users/${jane.id}`, "/users/me"],
      ["GET /metadata/me", `/metadata/${jane.id}`],
      ["GET /metadata/current", `/metadata/${device}`],
      ["GET /metadata/app", `/metadata/${appid}`],
    ];
    for (const [operation = "", path] of ways) {
      await configure(application, { disabledOperations: [operation] });
      assertError(await test.call(`GET ${path}`, { token: jane.token }), ...disabled);
      const requests = [{ method: "GET", path }];
      const batch = await test.call("POST /batch", { token: jane.token, body: { requests } });
      assert.equal(batch.body.result.responses[0].error, disabled[1], operation);
      const other = await test.call(`GET /users/${joan.id}`, { token: jane.token });
      assert.equal(other.status, 200, operation);
    }
  });

  it("may be registrations and downloads of bytes by signedUrl", async () => {
    const application = await test.createApplication();
    const { token } = await test.signUp("Jane", application);
    const picture = await upload(test, token, "/pictures", dataPart(await png(4, 4)));
    const signed = picture.signedUrl.slice(test.url.length);
    assert.equal((await download(test, signed)).status, 200);
    await configure(application, { disabledOperations: ["POST /devices", "GET /pictures/{id}/file"] });
    assert.equal((await download(test, signed)).status, 403);
    const { appid, appkey } = application;
    assertError(await test.call("POST /devices", { body: { appid, appkey, platform: "x" } }), ...disabled);
    assertError(
      await test.call("POST /devices", { body: { appid, appkey: "wrong", platform: "x" } }),
      401,
      "AuthAppCredentialsInvalid",
      261,
      "The application id or the application key is wrong. Check the values of appid and appkey.",
    );
  });
});

describe("a name in braces", () => {
  it("matches any id, including me and the caller's own", async () => {
    const application = await test.createApplication();
    const { id, token } = await test.signUp("Jane", application);
    await configure(application, { disabledOperations: ["GET /users/{id}"] });
    for (const path of ["me", id, test.app.ids.newId("User")]) {
      assertError(await test.call(`GET /users/${path}`, { token }), ...disabled);
    }
    assert.equal((await test.call("PATCH /users/me", { token, body: { firstName: "Jane" } })).status, 200);
    assert.equal((await test.call("GET /users", { token })).status, 200);
  });
});

// spec/operators#suspended-applications
describe("a suspended application", () => {
  it("gets a refusal for every call from the next request on, and continues with the same tokens afterwards", async () => {
    const application = await test.createApplication();
    const { appid, appkey } = application;
    const { token } = await test.signUp("Jane", application);
    await setApplication(appid, { suspended_at: 1 });
    for (const operation of ["GET /users/me", "POST /users/me/logout"]) {
      const answer = await test.call(operation, { token });
      assertError(answer, 403, "AuthAPICallDisabledByDeveloper", 257, "The application is suspended.");
    }
    assert.equal((await test.call("POST /devices", { body: { appid, appkey, platform: "x" } })).status, 403);
    await setApplication(appid, { suspended_at: null });
    assert.equal((await test.call("GET /users/me", { token })).status, 200);
  });
});

// spec/authentication#disabled-users-and-operations, spec/operators#disabled-users
describe("a disabled user", () => {
  it("can neither use tokens nor log in until enabled again; a wrong password is still reported as wrong", async () => {
    const jane = await test.signUp();
    const set = (disabled_at: number | null) =>
      other.app.database.write(({ queries }) =>
        queries.updateTable("users").set({ disabled_at }).where("id", "=", jane.id).execute(),
      );
    const refused = [403, "AuthUserAccountDisabled", 264, "The user account is disabled."] as const;
    await set(1);
    assertError(await test.call("GET /users/me", { token: jane.token }), ...refused);
    const device = await test.registerDevice();
    const login = (password: string) =>
      test.call("POST /users/login", { token: device, body: { username: jane.userName, password } });
    assertError(await login(jane.password), ...refused);
    assert.equal((await login("wrong")).body.error, "AuthBadUsernameOrPassword");
    await set(null);
    assert.equal((await test.call("GET /users/me", { token: jane.token })).status, 200);
    assert.equal((await login(jane.password)).status, 200);
  });
});

// spec/authentication#expiry
describe("lifetimes of tokens of an application", () => {
  it("override the lifetimes of the deployment", async () => {
    const application = await test.createApplication();
    await configure(application, { tokenLifetimes: { deviceMs: 5_000, userMs: 7_000 } });
    const { appid, appkey } = application;
    const device = await test.call("POST /devices", { body: { appid, appkey, platform: "x" } });
    assert.equal(device.body.result.accessTokenExpires, `/Date(${test.now() + 5_000})/`);
    const body = { username: "Jane", password: "a password" };
    const user = await test.call("POST /users", { token: device.body.result.accessToken, body });
    assert.equal(user.body.result.accessTokenExpires, `/Date(${test.now() + 7_000})/`);
  });
});

// spec/transport#cors
describe("the origins of an application", () => {
  const ours = "https://app.example";

  /** The CORS headers that a page of this origin gets. */
  async function headersFor(token: string | undefined, origin: string | undefined, path = "/users/me") {
    const { headers } = await test.call(`GET ${path}`, {
      ...(token !== undefined && { token }),
      headers: origin === undefined ? {} : { origin },
    });
    const { vary, "access-control-allow-origin": allowed, "access-control-expose-headers": exposed } = headers;
    return { vary, allowed, isExposed: exposed !== undefined };
  }

  it("allow any page to read answers of an application without origins, and answers of no application", async () => {
    const { token } = await test.signUp();
    const any = { vary: undefined, allowed: "*", isExposed: true };
    assert.deepEqual(await headersFor(token, ours), any);
    assert.deepEqual(await headersFor("nobody's", ours), any);
    assert.deepEqual(await headersFor(undefined, ours, "/_/health/ready"), any);
  });

  it("allow only pages of listed origins, and caches are informed", async () => {
    const application = await test.createApplication();
    const { token } = await test.signUp("Jane", application);
    await configure(application, { origins: [ours, "http://localhost:3000"] });
    for (const origin of [ours, "http://localhost:3000"]) {
      assert.deepEqual(await headersFor(token, origin), { vary: "Origin", allowed: origin, isExposed: true });
    }
    for (const origin of ["https://other.example", "null", undefined]) {
      assert.deepEqual(await headersFor(token, origin), { vary: "Origin", allowed: undefined, isExposed: false });
    }
  });
});

describe("signed requests: spec/authentication#signatures", () => {
  const secret = "a shared secret";
  const sign = (text: string, key = secret) => createHmac("sha256", key).update(text).digest("hex");

  async function withSecret(signedRequests: "optional" | "required") {
    const application = await test.createApplication();
    const { appid, appkey } = application;
    const { token } = await test.signUp("Jane", application);
    await configure(application, { signedRequests });
    const sealed = createPolicies({ secrets: test.config.secrets ?? [], database: test.app.database }).seal(
      appid,
      secret,
    );
    await other.app.database.write(({ queries }) => updateSigningSecret(appid, sealed, queries));
    const call = (operation: string, signature: string, options = {}) =>
      test.call(operation, { headers: { authorization: `Service ${token} ${signature}`.trim() }, ...options });
    return { appid, appkey, token, call };
  }

  it("are not needed at registration, which proves to the app that the server has the secret", async () => {
    const { appid, appkey } = await withSecret("required");
    const { status, body } = await test.call("POST /devices", { body: { appid, appkey, platform: "x" } });
    assert.equal(status, 201);
    assert.equal(body.result.serverSignature, sign(`${appkey}\n`));
    const plain = await test.createApplication();
    const without = await test.call("POST /devices", { body: { ...plain, platform: "x" } });
    assert.equal("serverSignature" in without.body.result, false);
  });

  // spec/authentication#wrong-signatures
  it("are required: every other call is refused without the right second word; its path may be decoded", async () => {
    const { appid, call } = await withSecret("required");
    const right = sign(`GET\n${appid}\n/users/me`);
    assert.equal((await call("GET /users/me?x=1", right)).status, 200);
    assert.equal((await call("GET /users/me", right.toUpperCase())).status, 200);
    assert.equal((await call("GET /users/%6de", sign(`GET\n${appid}\n/users/%6de`))).status, 200);
    assert.equal((await call("GET /users/%6de", right)).status, 200);
    const wrong = [
      ...["", "x", "0".repeat(64), right.slice(1), `${right}00`, `${right.slice(0, -1)}${right.endsWith("0") ? 1 : 0}`],
      ...[sign(`POST\n${appid}\n/users/me`), sign(`GET\n${appid}\n/users`), sign(`GET\n${appid}\n/users/me`, "other")],
    ];
    for (const signature of wrong) {
      assertError(
        await call("GET /users/me", signature),
        401,
        "AuthSignatureInvalid",
        258,
        "The signature is missing or wrong.",
      );
    }
    assert.equal((await call("POST /checkins", right, { body: { location: "1,2" } })).status, 401);
    const post = sign(`POST\n${appid}\n/checkins`);
    assert.equal((await call("POST /checkins", post, { body: { location: "1,2" } })).status, 201);
  });

  it("may sign an absolute request target, as proxies send it, by its path", async () => {
    const { appid, call } = await withSecret("required");
    for (const path of ["/users/me", "/users/me?x=http://a/b"]) {
      const answer = await call(`GET http://a.example:8080${path}`, sign(`GET\n${appid}\n/users/me`));
      assert.equal(answer.status, 200, answer.text);
    }
    assert.equal(test.logLines.at(-1)?.["path"], "/users/me");
  });

  // spec/authentication#unsigned-calls
  it("sign a batch once, by its own path", async () => {
    const { appid, call } = await withSecret("required");
    const body = { requests: [{ method: "GET", path: "/users/me" }] };
    const answer = await call("POST /batch", sign(`POST\n${appid}\n/batch`), { body });
    assert.equal(answer.body.result.responses[0].status, 200, answer.text);
  });

  // spec/authentication#wrong-signatures
  it("are optional: a missing signature is accepted, a wrong one refused; a revoked token is reported first", async () => {
    const { appid, call, token } = await withSecret("optional");
    assert.equal((await call("GET /users/me", "")).status, 200);
    assert.equal((await call("GET /users/me", sign(`GET\n${appid}\n/users/me`))).status, 200);
    assert.equal((await call("GET /users/me", sign("x"))).status, 401);
    const forged = { headers: { authorization: `Service ${token}x ${sign("x")}` } };
    assert.equal((await test.call("GET /users/me", forged)).body.error, "AuthAccessTokenInvalid");
  });

  // spec/authentication#unsigned-calls
  it("may follow after a blank in accessToken of the query, or be absent", async () => {
    const { appid, token } = await withSecret("optional");
    const { id } = await upload(test, token, "/blobs", dataPart("x"));
    await configure({ appid } as NewApplication, { signedRequests: "required" });
    const path = `/blobs/${id}/file`;
    const read = async (text: string) =>
      (await download(test, `${path}?accessToken=${encodeURIComponent(text)}`)).status;
    assert.equal(await read(token), 200);
    assert.equal(await read(`${token} ${sign(`GET\n${appid}\n${path}`)}`), 200);
    assert.equal(await read(`${token} ${sign("x")}`), 401);
  });

  it("are required with a secret that cannot be decrypted: all calls are refused", async () => {
    const { appid, call } = await withSecret("required");
    await other.app.database.write(({ queries }) => updateSigningSecret(appid, "broken", queries));
    for (const key of ["", secret]) {
      const signature = key === "" ? "" : sign(`GET\n${appid}\n/users/me`, key);
      assert.equal((await call("GET /users/me", signature)).body.error, "AuthSignatureInvalid");
    }
  });
});
