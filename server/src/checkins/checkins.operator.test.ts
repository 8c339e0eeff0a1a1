import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Answer, startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";

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

function ask(path: string): Promise<Answer> {
  return test.call(`GET /_/api/applications/${test.application.appid}/checkins${path}`, { token: operator });
}

async function find(query: string): Promise<string[]> {
  const { status, body } = await ask(`?${query}`);
  assert.equal(status, 200, query);
  return body.result.pageResults.map(({ id }: { id: string }) => id);
}

async function checkIn({ token }: TestUser, body: object): Promise<string> {
  test.advance(1_000);
  return (await test.call("POST /checkins", { token, body })).body.result.id;
}

// spec/operators#operator-views
describe("check-ins of an application, for operators", () => {
  it("are found by user, creation and area, with any permissions, at their true locations", async () => {
    await test.call("PATCH /users/me", { token: john.token, body: { locationFuzzing: true } });
    const own = await checkIn(jane, { location: "10,10", comment: "private" });
    const shared = await checkIn(jane, { location: "10,10.001", readPermissions: "App" });
    const fuzzy = await checkIn(john, { location: "-80,179.9999", readPermissions: "App" });
    assert.deepEqual(await find(""), [fuzzy, shared, own]);
    assert.deepEqual(await find("sortOrder=created"), [own, shared, fuzzy]);
    assert.deepEqual(await find(`userID=${jane.id}`), [shared, own]);
    assert.deepEqual(await find(`userID=${test.app.ids.newId("User")}`), []);
    assert.deepEqual(await find(`created=${test.now()}-`), [fuzzy]);
    const [of, whose] = [`userID=${jane.id}&`, `userID=${john.id}&`];
    assert.deepEqual(await find(`${of}locationRange=10,10,1`), [own]);
    assert.deepEqual(await find(`${of}locationRange=10,10,0`), [own]);
    assert.deepEqual(await find(`${of}locationRange=10,10,30000000&sortOrder=distance`), [own, shared]);
    assert.deepEqual(await find(`${whose}locationRange=-81,179-79,-179`), [fuzzy]);
    assert.deepEqual(await find(`${whose}locationRange=-80,179.9999,1`), [fuzzy]);
    const everywhere = (await ask("?locationRange=10,10,1")).body;
    assert.deepEqual(
      [everywhere.error, everywhere.message],
      ["ParameterMissingRequiredValue", "userID is required with locationRange."],
    );
    assert.equal((await ask("?sortOrder=distance")).body.error, "ParameterIncorrectFormat");
    const { location, shownLocation, ...rest } = (await ask(`/${fuzzy}`)).body.result;
    assert.deepEqual(location, { lat: -80, lng: 179.9999 });
    assert.notDeepEqual(shownLocation, location);
    const now = `/Date(${test.now()})/`;
    assert.deepEqual(rest, { id: fuzzy, userID: john.id, readPermissions: "App", created: now, lastModified: now });
  });

  it("disappear as soon as the erasure of their user starts", async () => {
    const gone = await test.signUp();
    const id = await checkIn(gone, { location: "1,1" });
    assert.equal((await ask(`/${id}`)).status, 200);
    await test.app.database.write(({ queries }) =>
      queries.updateTable("users").set({ deleted_at: test.now() }).where("id", "=", gone.id).execute(),
    );
    assert.equal((await ask(`/${id}`)).status, 404);
    assert.ok(!(await find("")).includes(id));
    assert.deepEqual(await find(`userID=${gone.id}&locationRange=1,1,1`), []);
    assert.deepEqual(await find(`userID=${gone.id}&pageSize=1`), []);
  });

  it("are paged to any depth, and a page token is refused in another application", async () => {
    const walker = await test.signUp();
    const ids: string[] = [];
    for (let n = 0; n < 7; n += 1) ids.unshift(await checkIn(walker, { location: `20,${n / 1_000}` }));
    const walked: string[] = [];
    let page = (await ask(`?userID=${walker.id}&pageSize=2`)).body.result;
    for (; ; page = (await ask(`?pagingToken=${page.nextToken}`)).body.result) {
      walked.push(...page.pageResults.map(({ id }: { id: string }) => id));
      if (page.nextToken === undefined) break;
    }
    assert.deepEqual(walked, ids);
    const other = await test.createApplication();
    const path = `/_/api/applications/${other.appid}/checkins?pagingToken=${page.currentToken}`;
    assert.equal((await test.call(`GET ${path}`, { token: operator })).status, 400);
  });
});
