import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Answer, startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";
import { distanceMeters } from "../lib/locations.ts";

let test: TestApp;
let jane: TestUser;
let john: TestUser;
before(async () => {
  test = await startTestApp();
  [jane, john] = [await test.signUp(), await test.signUp()];
});
after(() => test.close());

function create({ token }: TestUser, body: object): Promise<Answer> {
  test.advance(1_000);
  return test.call("POST /locations", { token, body });
}

async function created(user: TestUser, body: object): Promise<string> {
  const { status, body: answer, text } = await create(user, body);
  assert.equal(status, 201, text);
  return answer.result.id;
}

async function find({ token }: TestUser, query: string): Promise<string[]> {
  const { status, body, text } = await test.call(`GET /locations?${query}`, { token });
  assert.equal(status, 200, text);
  return body.result.pageResults.map(({ id }: { id: string }) => id);
}

const texts = {
  ...{ description: "Since 1876", address1: "Herrengasse 14", address2: "Palais Ferstel", city: "Wien" },
  ...{ region: "W", country: "AT", postalCode: "1010", phone: "+43 1", fax: "+43 2", website: "https://example.org/a" },
  ...{ category: "café", tag: "sights" },
};
const whole = { name: "Central", location: "48.2,16.37", ...texts };

describe("POST /locations: spec/locations#create-a-location", () => {
  it("stores every field of spec/locations#location-fields", async () => {
    const { status, body } = await create(jane, { ...whole, readPermissions: "App", writePermissions: "App" });
    assert.equal(status, 201);
    const { id, created: _, lastModified: __, ...rest } = body.result;
    assert.match(id, /^loc_/);
    const location = { lat: 48.2, lng: 16.37 };
    const permissions = { readPermissions: "App", writePermissions: "App" };
    assert.deepEqual(rest, { userID: jane.id, name: "Central", location, ...texts, ...permissions });
    const read = await test.call(`GET /locations/${id}`, { token: john.token });
    assert.deepEqual(read.body.result, body.result);
  });

  it("requires name and location", async () => {
    for (const body of [{ location: "1,2" }, { name: "", location: "1,2" }, { name: "x" }]) {
      assert.equal((await create(jane, body)).body.error, "ParameterMissingRequiredValue", JSON.stringify(body));
    }
  });

  it("accepts strings of at most 256 characters, and a description of 4,000", async () => {
    for (const name of ["name", ...Object.keys(texts)]) {
      const length = name === "description" ? 4_000 : 256;
      const text = name === "website" ? "https://example.org/".padEnd(length, "x") : "ß".repeat(length);
      assert.equal((await create(jane, { ...whole, [name]: text })).body.result?.[name], text, name);
      assert.equal((await create(jane, { ...whole, [name]: `${text}x` })).body.error, "ParameterOutOfRange", name);
    }
  });

  it("requires an absolute http or https URL as website, and returns it unchanged", async () => {
    for (const website of ["HTTPS://Example.org", "http://[::1]:8080/?q=ß#x"]) {
      assert.equal((await create(jane, { ...whole, website })).body.result?.website, website);
    }
    for (const website of [
      "example.org",
      "//example.org",
      "javascript:alert(1)",
      "ftp://example.org",
      "https://",
      {},
      true,
    ]) {
      assert.equal((await create(jane, { ...whole, website })).body.error, "ParameterIncorrectFormat", `${website}`);
    }
  });

  it("reads isPublic as readPermissions App unless that is sent", async () => {
    const permissionsOf = async (sent: object) =>
      (await create(jane, { name: "x", location: "1,2", ...sent })).body.result.readPermissions;
    assert.equal(await permissionsOf({ isPublic: true }), "App");
    assert.equal(await permissionsOf({ isPublic: "1" }), "App");
    assert.equal(await permissionsOf({ isPublic: true, readPermissions: "User" }), "User");
    assert.equal(await permissionsOf({ isPublic: false }), undefined);
    const id = await created(jane, { name: "x", location: "1,2" });
    const changed = await test.call(`PATCH /locations/${id}`, { token: jane.token, body: { isPublic: true } });
    assert.equal(changed.body.result.readPermissions, "App");
  });

  it("ignores fields that the service sets", async () => {
    const sent = { id: "loc_1", userID: john.id, created: "x", distanceFromSearch: "x" };
    const { body } = await create(jane, { name: "x", location: "1,2", ...sent });
    assert.equal(body.result.userID, jane.id);
    assert.notEqual(body.result.id, "loc_1");
    assert.equal("distanceFromSearch" in body.result, false);
  });
});

// spec/locations#read-change-or-delete-a-location
describe("/locations/{locationId}", () => {
  it("a change preserves omitted fields, and clears a field, except the name, with the empty string", async () => {
    const id = await created(jane, whole);
    const body = { name: "", website: "", city: "", description: null, fax: "+43 3", location: "1,2" };
    const changed = await test.call(`PATCH /locations/${id}`, { token: jane.token, body });
    const { website: _, city: __, ...kept } = texts;
    const { created: ___, lastModified: ____, ...rest } = changed.body.result;
    const now = { ...kept, fax: "+43 3", name: "Central", location: { lat: 1, lng: 2 } };
    assert.deepEqual(rest, { id, userID: jane.id, ...now });
  });

  it("other users change a location with write permission, and never delete it", async () => {
    const open = await created(jane, { ...whole, readPermissions: "App", writePermissions: "App" });
    const shared = await created(jane, { ...whole, isPublic: true });
    const own = await created(jane, whole);
    const attempt = async (call: string) =>
      (await test.call(call, { token: john.token, ...(call.startsWith("PATCH") && { body: { city: "Graz" } }) }))
        .status;
    assert.deepEqual(
      await Promise.all([open, shared, own].map((id) => attempt(`PATCH /locations/${id}`))),
      [200, 403, 404],
    );
    assert.deepEqual(
      await Promise.all([open, shared, own].map((id) => attempt(`DELETE /locations/${id}`))),
      [403, 403, 404],
    );
    assert.equal((await test.call(`DELETE /locations/${open}`, { token: jane.token })).body.result, true);
    assert.equal(await attempt(`PATCH /locations/${open}`), 404);
  });

  it("the metadata of a location follows its permissions, and is deleted with it", async () => {
    const id = await created(jane, { ...whole, isPublic: true });
    const put = { token: john.token, body: { value: 1 } };
    assert.equal((await test.call(`PUT /metadata/${id}/key`, put)).status, 201);
    const shared = { token: john.token, body: { value: 1, visibility: "App" } };
    assert.equal((await test.call(`PUT /metadata/${id}/key`, shared)).body.error, "ObjectPermissionDenied");
    await test.call(`DELETE /locations/${id}`, { token: jane.token });
    const { reads } = test.app.database;
    assert.equal((await reads.selectFrom("metadata").selectAll().where("object_id", "=", id).execute()).length, 0);
  });

  it("a location is erased with its user", async () => {
    const leaving = await test.signUp();
    const id = await created(leaving, { ...whole, isPublic: true });
    await test.call("DELETE /users/me", { token: leaving.token });
    assert.equal((await test.call(`GET /locations/${id}`, { token: john.token })).status, 404);
    const { reads } = test.app.database;
    assert.equal(
      (await reads.selectFrom("locations").select("id").where("user_id", "=", leaving.id).execute()).length,
      0,
    );
  });
});

describe("GET /locations: spec/locations#search-locations", () => {
  it("accepts every field but the description as a filter and an order", async () => {
    const owner = await test.signUp();
    const first = await created(owner, {
      ...whole,
      ...Object.fromEntries(Object.keys(texts).map((name) => [name, "a"])),
      website: "http://a",
    });
    const second = await created(owner, {
      ...whole,
      ...Object.fromEntries(Object.keys(texts).map((name) => [name, "b"])),
      website: "http://b",
    });
    for (const name of Object.keys(texts)) {
      if (name === "description") continue;
      const value = name === "website" ? "http://b" : "b";
      assert.deepEqual(await find(owner, `userID=me&${name}=${encodeURIComponent(value)}`), [second], name);
      assert.deepEqual(await find(owner, `userID=me&sortOrder=${name}`), [first, second], name);
      assert.deepEqual(await find(owner, `userID=me&sortOrder=-${name}`), [second, first], name);
    }
    assert.deepEqual(await find(owner, "userID=me&name=Central"), [second, first]);
    assert.deepEqual(await find(owner, "userID=me&description=a"), [second, first], "no filter, so it is ignored");
    const refused = await test.call("GET /locations?sortOrder=description", { token: owner.token });
    assert.equal(refused.body.error, "ParameterIncorrectFormat");
  });

  it("treats LIKE wildcards literally", async () => {
    const id = await created(jane, { name: "100%_", location: "1,2", city: "50%" });
    assert.deepEqual(await find(jane, `city=${encodeURIComponent("50%")}`), [id]);
    assert.deepEqual(await find(jane, `city=${encodeURIComponent("%")}`), []);
  });

  it("returns with a locationRange the metres from its centre to the point that this caller sees", async () => {
    const owner = await test.signUp();
    await created(owner, { name: "Pole", location: "89.99,10", isPublic: true });
    await created(owner, { name: "Date line", location: "0,179.99", isPublic: true });
    const pages = [
      ["89.9,-170,20000", { lat: 89.9, lng: -170 }],
      ["89.98,9-90,11", { lat: (89.98 + 90) / 2, lng: 10 }],
      ["-1,179-1,-179", { lat: 0, lng: 180 }],
      ["0,179.99,0", { lat: 0, lng: 179.99 }],
    ] as const;
    for (const [range, middle] of pages) {
      const page = await test.call(`GET /locations?userID=${owner.id}&locationRange=${range}`, { token: john.token });
      const [{ location, distanceFromSearch }] = page.body.result.pageResults;
      assert.equal(page.body.result.pageResults.length, 1, range);
      assert.equal(distanceFromSearch, distanceMeters(middle, location), range);
    }
    const without = await test.call("GET /locations?userID=me", { token: owner.token });
    assert.doesNotMatch(without.text, /distanceFromSearch/);
    const first = await test.call("GET /locations?userID=me&locationRange=0,0,30000000&pageSize=1", {
      token: owner.token,
    });
    const next = await test.call(`GET /locations?pagingToken=${first.body.result.nextToken}`, { token: owner.token });
    assert.equal(typeof next.body.result.pageResults[0].distanceFromSearch, "number", "on every page");
  });

  // P19
  it("finds a location of another user with locationFuzzing at its fuzzed point, with the distance to that point", async () => {
    const owner = await test.signUp();
    await test.call("PATCH /users/me", { token: owner.token, body: { locationFuzzing: true } });
    const id = await created(owner, { name: "Home", location: "48.2,16.37", isPublic: true });
    const area = `userID=${owner.id}&locationRange=48.2,16.37,`;
    assert.deepEqual(await find(john, `${area}400`), []);
    const page = await test.call(`GET /locations?${area}2000&sortOrder=distance`, { token: john.token });
    const [{ location, distanceFromSearch }] = page.body.result.pageResults;
    assert.equal(distanceFromSearch, distanceMeters({ lat: 48.2, lng: 16.37 }, location));
    assert.ok(distanceFromSearch >= 500 && distanceFromSearch <= 1_500, `${distanceFromSearch} m`);
    const { body } = await test.call("GET /locations?userID=me&locationRange=48.2,16.37,400", { token: owner.token });
    assert.deepEqual([body.result.pageResults[0].id, body.result.pageResults[0].distanceFromSearch], [id, 0]);
  });
});
