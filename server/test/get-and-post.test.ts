import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { ownedIdKinds, ownedKinds } from "../src/lib/kinds.ts";
import { startTestApp, type TestApp } from "./harness.ts";
import { ownedSeeds } from "./owned-seeds.ts";
import { dataPart, png, upload } from "./uploads.ts";

/**
 * A client that can only send GET and POST reaches every operation through POST /batch
 * (spec/transport#tunnelled-verbs).
 */

let test: TestApp;
before(async () => {
  test = await startTestApp();
});
after(() => test.close());

// biome-ignore lint/suspicious/noExplicitAny: results of every shape
type Result = any;

/** A client that sends only GET and POST. */
function limitedClient() {
  const operations = new Set<string>();
  let token: string | undefined;

  async function send(method: "GET" | "POST", path: string, body?: unknown): Promise<Result> {
    const answer = await test.call(`${method} ${path}`, { ...(token !== undefined && { token }), body });
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`);
    return answer.body.result;
  }
  return {
    operations,
    send,
    /** Sends any method in a batch of one item. */
    async tunnel(operation: string, parameters?: unknown): Promise<Result> {
      const [method = "", path = ""] = operation.split(" ");
      const { responses } = await send("POST", "/batch", { requests: [{ method, path, parameters }] });
      const [response] = responses;
      assert.equal(response.success, true, `${operation}: ${JSON.stringify(response)}`);
      const called = test.app.routes.filter((each) => each.method === method && pattern(each.path).test(path));
      const [exact = called[0]] = called.filter((each) => !each.path.includes("{"));
      if (exact !== undefined) operations.add(exact.operation);
      return response.result;
    },
    use(given: string): void {
      token = given;
    },
  };
}

function pattern(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/?]+")}(\\?.*)?$`);
}

it("registers, signs up, and reaches every client operation, whatever its method", async () => {
  const { send, tunnel, use, operations } = limitedClient();
  const registered = await send("POST", "/devices", { ...test.application, platform: "limited" });
  use(registered.accessToken);
  await tunnel("POST /devices", { ...test.application, platform: "limited" });
  await tunnel("GET /devices/current");
  await tunnel("PATCH /devices/current", { appVersion: "1.0" });
  await tunnel("POST /devices/current/crashreports", { stackTrace: "at main (app.js:1:1)" });
  await tunnel("GET /service/ping");
  await tunnel("POST /users/password", { userName: "nobody", subject: "Hi", body: "@ResetCode" });

  const name = { username: "limited", password: "pass word" };
  await tunnel("POST /users", name);
  const { accessToken, id } = await tunnel("POST /users/login", name);
  use(accessToken);
  await tunnel("GET /users/me");
  await tunnel(`GET /users/${id}`);
  await tunnel("GET /users", { userName: "limited" });
  await tunnel("PATCH /users/me", { firstName: "Jane" });
  await tunnel("GET /users/me/tokens");
  const other = await tunnel("POST /users/login", name);
  const tokens = await tunnel("GET /users/me/tokens");
  await tunnel(`DELETE /users/me/tokens/${tokens.pageResults.find(({ current }: Result) => !current).id}`);
  assert.notEqual(other.accessToken, accessToken);

  await tunnel("POST /users/me/identities/crm", { identityId: "4711" });
  await tunnel("GET /users/me/identities");
  await tunnel("GET /users/me/identities/crm");
  assert.equal(await tunnel("GET /users/identities/crm/4711"), id);
  await tunnel("DELETE /users/me/identities/crm/4711");
  await tunnel("DELETE /users/me/identities/crm");

  // Files are transferred directly, by GET and POST; all other operations are sent in a batch.
  for (const kind of ownedIdKinds) {
    const { fields, bytes } = ownedSeeds[kind];
    const { collection } = ownedKinds[kind];
    const created = bytes
      ? await upload(test, accessToken, `/${collection}`, dataPart(await bytes()))
      : await tunnel(`POST /${collection}`, fields);
    assert.equal((await tunnel(`GET /${collection}`)).pageResults.length, 1);
    await tunnel(`GET /${collection}/${created.id}`);
    await tunnel(`PATCH /${collection}/${created.id}`, { tag: "tunnelled" });
    assert.equal(await tunnel(`DELETE /${collection}/${created.id}`), true);
  }
  const location = await tunnel("POST /locations", { name: "Square", location: "1,2" });
  assert.equal(await tunnel(`POST /locations/${location.id}/flag`, { flagReason: "closed" }), true);

  const picture = dataPart(await png(1, 1));
  const { id: pictureId } = await upload(test, accessToken, "/users/me/profilepicture", picture);
  assert.equal((await tunnel("GET /users/me/profilepicture", { size: "1" })).id, pictureId);
  assert.equal(await tunnel("DELETE /users/me/profilepicture"), true);

  assert.equal(await tunnel("POST /users/me/email", { email: "ada@example.org" }), true);

  await tunnel("PUT /metadata/me/colour", { value: "green" });
  await tunnel("PUT /metadata/app", { values: { a: 1, b: { c: [null] } }, visibility: "App" });
  assert.equal((await tunnel("GET /metadata/me/colour")).value, "green");
  assert.equal((await tunnel("GET /metadata/app", { visibility: "App", keyPrefix: "b" })).pageResults.length, 1);
  assert.equal((await tunnel("POST /metadata/me/visits/increment", { delta: 2 })).value, 2);
  assert.equal(await tunnel("DELETE /metadata/me/colour"), true);

  assert.deepEqual((await tunnel("GET /events")).pageResults, []);
  await tunnel("POST /events/streams");

  const event = await tunnel("POST /metrics/events/level-won", { value: 3, timeoutInSeconds: 60 });
  await tunnel(`DELETE /metrics/events/${event.id}`);
  assert.equal((await tunnel("POST /metrics/events", { events: [{ key: "level-lost" }] })).accepted, 1);

  await tunnel("POST /users/me/tokens");
  await tunnel("POST /users/me/logout");
  use((await send("POST", "/devices", { ...test.application, platform: "limited" })).accessToken);
  use((await tunnel("POST /users/login", name)).accessToken);
  assert.equal(await tunnel("DELETE /users/me"), true);

  // These need a mailed code or a provider's token; the tests of batches cover their errors.
  const others = ["resetPassword", "verifyEmail", "loginSocialUser"];
  const client = test.app.routes.filter(({ caller, isBatchable }) => caller !== "operator" && isBatchable !== false);
  const missing = client.filter(({ operation }) => !operations.has(operation) && !others.includes(operation));
  assert.deepEqual(
    missing.map(({ operation, path }) => `${operation} ${path}`).filter((each) => !each.includes("/_/")),
    [],
  );
});
