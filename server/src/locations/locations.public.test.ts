import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Answer, startTestApp, type TestApp, type TestOperator, type TestUser } from "../../test/harness.ts";

let test: TestApp;
let operator: TestOperator;
let jane: TestUser;
let root: string;
before(async () => {
  test = await startTestApp();
  operator = await test.createOperator("editor", "editor");
  jane = await test.signUp();
  root = `/_/api/applications/${test.application.appid}/locations`;
});
after(() => test.close());

function ask(call: string, body?: object, { token } = operator): Promise<Answer> {
  return test.call(call, { token, ...(body && { body }) });
}

async function createPublic(body: object = {}): Promise<string> {
  test.advance(1_000);
  const { status, body: answer, text } = await ask(`POST ${root}`, { name: "Square", location: "10,20", ...body });
  assert.equal(status, 201, text);
  return answer.result.id;
}

// spec/locations#public-locations
describe("public locations", () => {
  it("have no user, and are read and found by every user token at their true location", async () => {
    const id = await createPublic({
      city: "Wien",
      tag: "t",
      readPermissions: "User",
      isPublic: false,
      userID: jane.id,
    });
    const { body } = await test.call(`GET /locations/${id}`, { token: jane.token });
    const { created: _, lastModified: __, ...rest } = body.result;
    const expected = { id, name: "Square", location: { lat: 10, lng: 20 }, city: "Wien", tag: "t" };
    assert.deepEqual(rest, { ...expected, readPermissions: "App" });
    for (const query of ["", "?city=Wien", "?locationRange=10,20,1&sortOrder=distance", "?sortOrder=name&tag=t"]) {
      const page = await test.call(`GET /locations${query}`, { token: jane.token });
      assert.deepEqual(
        page.body.result.pageResults.map((each: { id: string }) => each.id),
        [id],
        query,
      );
    }
    const own = await test.call("GET /locations?userID=me", { token: jane.token });
    assert.deepEqual(own.body.result.pageResults, []);
    assert.equal((await test.call(`GET /locations/${id}`, { token: jane.deviceToken })).status, 403);
    const stranger = await test.signUp("Stranger", await test.createApplication());
    assert.equal((await test.call(`GET /locations/${id}`, { token: stranger.token })).status, 404);
  });

  it("are changed and deleted by operators only", async () => {
    const id = await createPublic({ website: "https://example.org" });
    const denied = [
      test.call(`PATCH /locations/${id}`, { token: jane.token, body: { name: "Mine" } }),
      test.call(`PATCH /locations/${id}`, { token: jane.token, body: { location: "1,2", writePermissions: "App" } }),
      test.call(`PATCH /locations/${id}`, { token: jane.token, body: {} }),
      test.call(`DELETE /locations/${id}`, { token: jane.token }),
      test.call(`PUT /metadata/${id}/key`, { token: jane.token, body: { value: 1, visibility: "App" } }),
    ];
    for (const { body } of await Promise.all(denied)) assert.equal(body.error, "ObjectPermissionDenied");

    const changes = { name: "Circle", website: "", tag: "new", location: "-10,180", writePermissions: "App" };
    const changed = await ask(`PATCH ${root}/${id}`, changes);
    const { created: _, lastModified: __, ...rest } = changed.body.result;
    const expected = { id, name: "Circle", tag: "new", location: { lat: -10, lng: 180 }, readPermissions: "App" };
    assert.deepEqual(rest, expected);
    assert.deepEqual((await test.call(`GET /locations/${id}`, { token: jane.token })).body.result, changed.body.result);

    assert.equal((await ask(`DELETE ${root}/${id}`)).body.result, true);
    assert.equal((await test.call(`GET /locations/${id}`, { token: jane.token })).status, 404);
    for (const call of [`DELETE ${root}/${id}`, `PATCH ${root}/${id}`]) {
      assert.equal((await ask(call)).body.error, "ItemDoesNotExist");
    }
  });

  it("have metadata of users, which is deleted with the location", async () => {
    const id = await createPublic();
    assert.equal((await test.call(`PUT /metadata/${id}/note`, { token: jane.token, body: { value: 1 } })).status, 201);
    const items = await test.call(`GET /metadata/${id}`, { token: jane.token });
    assert.equal(items.body.result.pageResults.length, 1);
    const seen = await ask(`GET /_/api/applications/${test.application.appid}/metadata/${id}`);
    assert.equal(seen.body.result.pageResults[0].userID, jane.id);
    await ask(`DELETE ${root}/${id}`);
    const { reads } = test.app.database;
    assert.equal((await reads.selectFrom("metadata").selectAll().where("object_id", "=", id).execute()).length, 0);
  });

  it("can be changed by operators, who cannot change a user's location", async () => {
    const body = { name: "Home", location: "1,2", readPermissions: "App", writePermissions: "App" };
    const { id } = (await test.call("POST /locations", { token: jane.token, body })).body.result;
    assert.equal((await ask(`PATCH ${root}/${id}`, { name: "x" })).body.error, "ObjectPermissionDenied");
    assert.equal((await ask(`DELETE ${root}/${id}`)).body.error, "ObjectPermissionDenied");
    assert.equal((await ask(`GET ${root}/${id}`)).body.result.name, "Home");
  });

  it("cannot be created, changed or deleted by a viewer", async () => {
    const id = await createPublic();
    const viewer = await test.createOperator("viewer", "viewer");
    const body = { name: "x", location: "1,2" };
    for (const call of [`POST ${root}`, `PATCH ${root}/${id}`, `DELETE ${root}/${id}`]) {
      assert.equal((await ask(call, body, viewer)).body.error, "ObjectPermissionDenied", call);
    }
    assert.equal((await ask(`GET ${root}/${id}`, undefined, viewer)).status, 200);
  });

  it("are listed for operators together with those of users, and their changes are in the audit log", async () => {
    const owner = await test.signUp();
    await test.call("PATCH /users/me", { token: owner.token, body: { locationFuzzing: true } });
    test.advance(1_000);
    const body = { name: "Home", location: "1,2" };
    const { id: home } = (await test.call("POST /locations", { token: owner.token, body })).body.result;
    const id = await createPublic();
    const { result } = (await ask(`GET ${root}?pageSize=2`)).body;
    const [first, second] = result.pageResults;
    assert.deepEqual([first.id, first.userID, first.shownLocation], [id, undefined, undefined]);
    assert.deepEqual([second.id, second.userID, second.location], [home, owner.id, { lat: 1, lng: 2 }]);
    assert.notDeepEqual(second.shownLocation, second.location);
    const audit = await ask(`GET /_/api/audit?action=createPublicLocation`, undefined, await test.createOperator());
    assert.ok(audit.body.result.pageResults.length > 0);
  });

  it("remain when a user is deleted", async () => {
    const leaving = await test.signUp();
    const id = await createPublic();
    await test.call("DELETE /users/me", { token: leaving.token });
    assert.equal((await test.call(`GET /locations/${id}`, { token: jane.token })).status, 200);
  });
});
