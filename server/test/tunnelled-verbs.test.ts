import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { NewApplication } from "../src/applications/applications.store.ts";
import { type ApplicationSettings, updateApplicationSettings } from "../src/tenancy/application-settings.ts";
import { type Answer, startTestApp, type TestApp } from "./harness.ts";
import { begin, bytesHeaders, createUpload, tusHeaders } from "./tus.ts";

let test: TestApp;
/** Another process on the same database: it changes what this one judges by. */
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

/** How a verb can be said: by itself, or in a header of another one, where that counts. */
const spellings = ["PATCH", "patch", " PaTcH "] as const;

function send(path: string, token: string, spelling: string, method = "POST"): Promise<Answer> {
  const headers = { ...bytesHeaders, "upload-offset": "0", "x-http-method-override": spelling };
  return test.call(`${method} ${path}`, { token, headers, body: "abc" });
}

function isThere(path: string, token: string): Promise<Answer> {
  return test.call(`HEAD ${path}`, { token, headers: tusHeaders });
}

describe("a verb in X-HTTP-Method-Override is that verb: hostile.md 28", () => {
  it("where it is disabled, it is disabled in any spelling and below any method; where another one is, it is not", async () => {
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

  it("its limit counts, however it is said, and that of the method does not", async () => {
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

  it("a kind of file that may not be made is not made in pieces either", async () => {
    const application = await test.createApplication();
    const { token } = await test.signUp("Jane", application);
    await configure(application, { disabledOperations: ["POST /blobs"] });
    const refused = await createUpload(test, token, 3);
    assert.deepEqual([refused.status, refused.body.error], [403, "AuthAPICallDisabledByDeveloper"]);
    await begin(test, token, 3, { kind: "video" });
  });

  it("elsewhere the header means nothing: the method of the request is judged and done", async () => {
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
