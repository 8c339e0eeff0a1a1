import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Answer, assertError, startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";
import { carrierKinds } from "../lib/kinds.ts";

let test: TestApp;
let operator: string;
let jane: TestUser;
let john: TestUser;
before(async () => {
  test = await startTestApp();
  operator = (await test.createOperator()).token;
  [jane, john] = [await test.signUp(), await test.signUp()];
});
after(() => test.close());

const ask = (path: string, { appid } = test.application): Promise<Answer> =>
  test.call(`GET /_/api/applications/${appid}/metadata/${path}`, { token: operator });

async function put(path: string, { token }: TestUser, body: object): Promise<void> {
  const { status } = await test.call(`PUT /metadata/${path}`, { token, body });
  assert.ok([200, 201].includes(status));
}

// spec/operators#operator-views
describe("metadata of an object for operators", () => {
  it("is listed for all slots with user and true location, filtered by key, prefix, visibility and user", async () => {
    const body = { location: "1,2", readPermissions: "App", writePermissions: "App" };
    const { id } = (await test.call("POST /checkins", { token: jane.token, body })).body.result;
    await put(`${id}/a%25b`, jane, { value: { n: 1 } });
    await put(`${id}/a_b`, john, { value: 12345678901234567n.toString() });
    await put(`${id}/__proto__`, john, { value: [], visibility: "App", location: "5,6" });
    const now = `/Date(${test.now()})/`;
    const times = { created: now, lastModified: now };
    const shared = {
      ...{ key: "__proto__", value: [], visibility: "App", location: { lat: 5, lng: 6 }, setterID: john.id, ...times },
    };
    const janes = { key: "a%b", value: { n: 1 }, visibility: "User", userID: jane.id, ...times };
    const johns = { key: "a_b", value: "12345678901234567", visibility: "User", userID: john.id, ...times };
    const own = jane.id < john.id ? [janes, johns] : [johns, janes];
    const list = async (query: string) => (await ask(`${id}?${query}`)).body.result.pageResults;
    assert.deepEqual(await list(""), [shared, ...own]);
    assert.deepEqual(await list("visibility=App"), [shared]);
    assert.deepEqual(await list("visibility=User"), own);
    assert.deepEqual(await list(`userID=${john.id}`), [johns]);
    assert.deepEqual(await list("key=a%25b"), [janes]);
    assert.deepEqual(await list("keyPrefix=a"), own);
    assert.deepEqual(await list("keyPrefix=a%25"), [janes]);
    assert.deepEqual(await list("keyPrefix=%25"), []);
    assert.deepEqual(await list("keyPrefix=__"), [shared]);

    const walked = [];
    let page = (await ask(`${id}?pageSize=1`)).body.result;
    for (; ; page = (await ask(`${id}?pagingToken=${page.nextToken}`)).body.result) {
      walked.push(...page.pageResults);
      if (page.nextToken === undefined) break;
    }
    assert.deepEqual(walked, [shared, ...own]);
    assert.equal((await ask(`${jane.id}?pagingToken=${page.currentToken}`)).status, 400);
  });

  it("is available for the application, users and devices, with 404 for objects that do not exist or belong to another application", async () => {
    const { appid } = test.application;
    for (const name of ["app", "me", "current"]) await put(`${name}/key`, jane, { value: name, visibility: "App" });
    const device = (await test.call("GET /devices/current", { token: jane.token })).body.result.id;
    for (const [id, value] of [
      [appid, "app"],
      [jane.id, "me"],
      [device, "current"],
    ]) {
      assert.deepEqual((await ask(`${id}?visibility=App`)).body.result.pageResults.at(-1).value, value);
    }
    const other = await test.createApplication();
    const { ids } = test.app;
    for (const id of carrierKinds.map((kind) => ids.newId(kind))) {
      assertError(await ask(id), 404, "ItemDoesNotExist", 769, "The item does not exist.");
    }
    for (const id of [appid, jane.id, device]) {
      assertError(await ask(id, other), 404, "ItemDoesNotExist", 769, "The item does not exist.");
    }
    for (const word of ["me", "app", "current"]) assert.equal((await ask(word)).status, 400);
    const gone = await test.signUp();
    await test.call("DELETE /users/me", { token: gone.token });
    assert.equal((await ask(gone.id)).status, 404);
  });
});
