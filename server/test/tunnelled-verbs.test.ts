import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { NewApplication } from "../src/applications/applications.store.ts";
import { type ApplicationSettings, updateApplicationSettings } from "../src/tenancy/application-settings.ts";
import { type Answer, startTestApp, type TestApp } from "./harness.ts";
import { begin, bytesHeaders, createUpload, tusHeaders } from "./tus.ts";

let test: TestApp;
/** Another process on the same database, which changes the policies of this one. */
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

/**
 * The ways to send a method: directly, or in a header of a request with another method, on the routes that accept that.
 */
const spellings = ["PATCH", "patch", " PaTcH "] as const;

function send(path: string, token: string, spelling: string, method = "POST"): Promise<Answer> {
  const headers = { ...bytesHeaders, "upload-offset": "0", "x-http-method-override": spelling };
  return test.call(`${method} ${path}`, { token, headers, body: "abc" });
}

function isThere(path: string, token: string): Promise<Answer> {
  return test.call(`HEAD ${path}`, { token, headers: tusHeaders });
}

// spec/transport#tunnelled-verbs
describe("a verb in X-HTTP-Method-Override is that verb: hostile.md 28", () => {
  it("a disabled operation is refused in any spelling and below any method, and other operations are not", async () => {
    const application = await test.createApplication();
    const { token } = await test.signUp("Jane", application);
    const path = await begin(test, token, 3);
    await configure(application, { disabledOperations: ["PATCH /files/uploads/{id}"] });
    for (const spelling of spellings) {
      for (const method of ["POST", "PATCH", "PUT", "DELETE"]) {
        const { status, body } = await send(path, token, spelling, method);
        assert.deepEqual([status, body?.error], [403, "AuthAPICallDisabledByDeveloper"], `${method} ${spelling}`);
      }
    }
    assert.equal((await isThere(path, token)).headers["upload-offset"], "0");
    await configure(application, { disabledOperations: ["POST /files/uploads/{id}", "DELETE /files/uploads/{id}"] });
    assert.equal((await send(path, token, "PATCH")).status, 204);
  });

  it("the limit of the tunnelled method applies, and that of the sent method does not", async () => {
    const application = await test.createApplication();
    const { token } = await test.signUp("Jane", application);
    const path = await begin(test, token, 3);
    const few = { perSecond: 0.001, burst: 2 };
    const operations = { "PATCH /files/uploads/{id}": few, "POST /files/uploads/{id}": { ...few, burst: 1 } };
    await configure(application, { limits: { operations } });
    const found: number[] = [];
    for (const spelling of spellings) found.push((await send(path, token, spelling)).status);
    assert.deepEqual(found, [204, 409, 429]);
    assert.equal((await isThere(path, token)).status, 200);
  });

  it("a disabled kind of file cannot be created by a resumable upload either", async () => {
    const application = await test.createApplication();
    const { token } = await test.signUp("Jane", application);
    await configure(application, { disabledOperations: ["POST /blobs"] });
    const refused = await createUpload(test, token, 3);
    assert.deepEqual([refused.status, refused.body.error], [403, "AuthAPICallDisabledByDeveloper"]);
    await begin(test, token, 3, { kind: "video" });
  });

  it("other routes ignore the header and use the method of the request", async () => {
    const { token, deviceToken } = await test.signUp();
    const { token: viewer } = await test.createOperator(undefined, "viewer");
    const operator = await test.createOperator();
    const headers = { "x-http-method-override": "DELETE", "x-method-override": "DELETE", "x-http-method": "DELETE" };
    assert.equal((await test.call("GET /users/me?_method=DELETE&method=DELETE", { token, headers })).status, 200);
    assert.equal((await test.call("GET /users/me", { token: deviceToken, headers })).status, 403);
    assert.equal((await test.call("GET /users/me", { token })).status, 200);
    const path = `/_/api/operators/${operator.id}`;
    assert.equal((await test.call(`GET ${path}`, { token: operator.token, headers })).status, 200);
    const asGet = { headers: { "x-http-method-override": "GET" }, token: viewer };
    assert.equal((await test.call(`DELETE ${path}`, asGet)).status, 403);
    assert.equal((await test.call("GET /_/api/operators/me", { token: operator.token })).status, 200);
  });
});
