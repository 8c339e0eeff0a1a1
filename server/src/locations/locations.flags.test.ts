import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Answer, startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";
import { finishErasure } from "../jobs/metadata-erasure.ts";
import { putFlag } from "./locations.flags.store.ts";

const emptyFlag = { reason: null, comment: null, created_at: 0, modified_at: 0 };

let test: TestApp;
let operator: string;
let jane: TestUser;
let john: TestUser;
before(async () => {
  test = await startTestApp();
  operator = (await test.createOperator("viewer", "viewer")).token;
  [jane, john] = [await test.signUp(), await test.signUp()];
});
after(() => test.close());

async function create({ token }: TestUser, body: object = {}): Promise<string> {
  const sent = { name: "Place", location: "1,2", isPublic: true, ...body };
  return (await test.call("POST /locations", { token, body: sent })).body.result.id;
}

function flag({ token }: { readonly token: string }, id: string, body: object = {}): Promise<Answer> {
  test.advance(1_000);
  return test.call(`POST /locations/${id}/flag`, { token, body });
}

async function list(query: string): Promise<{ readonly [name: string]: unknown }[]> {
  const path = `/_/api/applications/${test.application.appid}/location-flags?${query}`;
  const { status, body, text } = await test.call(`GET ${path}`, { token: operator });
  assert.equal(status, 200, text);
  return body.result.pageResults;
}

// spec/locations#flag-a-location
describe("POST /locations/{locationId}/flag", () => {
  it("stores one flag per user, which a later call replaces", async () => {
    const id = await create(jane);
    assert.equal((await flag(john, id, { flagReason: "closed", comment: "since May" })).body.result, true);
    const [before] = await list(`locationID=${id}`);
    assert.equal((await flag(john, id, { flagReason: "spam" })).body.result, true);
    await flag(jane, id);
    const [own, replaced, ...others] = await list(`locationID=${id}`);
    const { created, lastModified, ...rest } = replaced ?? {};
    assert.deepEqual(rest, { id: before?.["id"], locationID: id, userID: john.id, flagReason: "spam" });
    assert.equal(created, before?.["created"]);
    assert.notEqual(lastModified, before?.["lastModified"]);
    assert.deepEqual([own?.["userID"], own?.["flagReason"], others], [jane.id, undefined, []]);
  });

  it("stores one flag for a hundred concurrent calls by one user", async () => {
    const id = await create(jane);
    const answers = await Promise.all(Array.from({ length: 100 }, (_, n) => flag(john, id, { comment: `${n}` })));
    assert.ok(answers.every(({ status }) => status === 200));
    assert.equal((await list(`locationID=${id}`)).length, 1);
  });

  it("refuses strings that are too long and locations that the user may not read", async () => {
    const [shared, own] = [await create(jane), await create(jane, { isPublic: false })];
    assert.equal((await flag(john, shared, { flagReason: "x".repeat(257) })).body.error, "ParameterOutOfRange");
    assert.equal((await flag(john, shared, { comment: "x".repeat(4_001) })).body.error, "ParameterOutOfRange");
    assert.equal((await flag(john, shared, { comment: {} })).body.error, "ParameterIncorrectFormat");
    for (const id of [own, test.app.ids.newId("Location")]) {
      assert.equal((await flag(john, id)).body.error, "ItemDoesNotExist");
    }
    assert.equal((await flag({ token: jane.deviceToken }, shared)).body.error, "AuthUserAccessTokenRequired");
    assert.deepEqual(await list(`locationID=${shared}`), []);
  });

  it("adds flags that are deleted with the location, however many there are", async () => {
    const id = await create(jane);
    await flag(john, id);
    const { database, ids } = test.app;
    await database.write(async ({ queries }) => {
      const user = await queries.selectFrom("users").selectAll().where("id", "=", john.id).executeTakeFirstOrThrow();
      const others = Array.from({ length: 300 }, () => ids.newId("User"));
      for (const other of others) {
        await queries
          .insertInto("users")
          .values({ ...user, id: other, user_name_key: other })
          .execute();
        const flag = { ...emptyFlag, id: ids.newId("LocationFlag"), object_id: id, user_id: other };
        await putFlag({ ...flag, application_id: user.application_id }, queries);
      }
    });
    assert.equal((await list(`locationID=${id}&pageSize=1000`)).length, 301);
    assert.equal((await test.call(`DELETE /locations/${id}`, { token: jane.token })).status, 200);
    await finishErasure(test.application.appid, id, database); // like the background work after the response
    const left = await database.reads
      .selectFrom("location_flags")
      .select("user_id")
      .where("object_id", "=", id)
      .execute();
    assert.equal(left.length, 0);
  });

  it("adds a flag that is deleted with its user, and with the user of the location", async () => {
    const [owner, leaving] = [await test.signUp(), await test.signUp()];
    const [id, other] = [await create(jane), await create(owner)];
    await flag(leaving, id, { comment: "private" });
    await flag(john, other);
    await test.call("DELETE /users/me", { token: leaving.token });
    await test.call("DELETE /users/me", { token: owner.token });
    assert.deepEqual(await list(`locationID=${id}`), []);
    assert.deepEqual(await list(`locationID=${other}`), []);
    const { reads } = test.app.database;
    const left = await reads
      .selectFrom("location_flags")
      .select("user_id")
      .where("object_id", "in", [id, other])
      .execute();
    assert.equal(left.length, 0);
  });

  it("reveals nothing to the location's user", async () => {
    const id = await create(jane);
    await flag(john, id, { flagReason: "secret reason", comment: "secret comment" });
    for (const path of [`/locations/${id}`, "/locations?userID=me", `/metadata/${id}`]) {
      assert.doesNotMatch((await test.call(`GET ${path}`, { token: jane.token })).text, /secret/, path);
    }
    assert.equal((await test.call(`GET /locations/${id}/flag`, { token: jane.token })).body.error, "OperationNotFound");
  });
});

// spec/locations#list-flags
describe("GET /_/api/applications/{appid}/location-flags", () => {
  it("lists flags newest first, by location, user and time, in pages", async () => {
    const user = await test.signUp();
    const ids = [await create(jane), await create(jane), await create(jane)];
    for (const id of ids) await flag(user, id);
    const since = test.now();
    const found = async (query: string) => (await list(query)).map(({ locationID }) => locationID);
    assert.deepEqual(await found(`userID=${user.id}`), ids.toReversed());
    assert.deepEqual(await found(`ownerID=${user.id}&locationID=${ids[1]}`), [ids[1]]);
    assert.deepEqual(await found(`userID=${user.id}&created=${since}-`), [ids[2]]);
    assert.deepEqual(await found(`userID=${test.app.ids.newId("User")}`), []);
    const path = `/_/api/applications/${test.application.appid}/location-flags`;
    const first = await test.call(`GET ${path}?userID=${user.id}&pageSize=2`, { token: operator });
    const next = await test.call(`GET ${path}?pagingToken=${first.body.result.nextToken}`, { token: operator });
    assert.deepEqual(
      next.body.result.pageResults.map((each: { locationID: string }) => each.locationID),
      [ids[0]],
    );
    assert.equal((await test.call(`GET ${path}`, { token: jane.token })).status, 401);
  });
});

it("a user's export has the user's locations and flags: spec/operators#export-a-user", async () => {
  const user = await test.signUp();
  const id = await create(user);
  await flag(user, id, { comment: "about my own" });
  await flag(john, id, { comment: "of another" });
  const owner = { applicationId: test.application.appid, userId: user.id };
  const written = new Map<string, unknown[]>();
  for (const exporter of test.app.userExporters) {
    for await (const entry of exporter(owner)) {
      if ("rows" in entry) written.set(entry.name, await Array.fromAsync(entry.rows));
    }
  }
  assert.deepEqual(
    (written.get("locations.ndjson") ?? []).map((row) => Object(row).id),
    [id],
  );
  assert.deepEqual(
    (written.get("flags.ndjson") ?? []).map((row) => Object(row).comment),
    ["about my own"],
  );
});
