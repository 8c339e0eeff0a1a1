import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Answer, startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";
import { begin, createUpload, pathOf, sendBytes } from "../../test/tus.ts";
import { dataPart, upload } from "../../test/uploads.ts";
import { conditionsOf } from "../contract/route.ts";
import { isLocationInput } from "../contract/sent-locations.ts";

let test: TestApp;
let jane: TestUser;
let john: TestUser;
let fuzzy: TestUser;
before(async () => {
  test = await startTestApp();
  [jane, john, fuzzy] = [await test.signUp(), await test.signUp(), await test.signUp()];
  await test.call("PATCH /users/me", { token: fuzzy.token, body: { locationFuzzing: true } });
});
after(() => test.close());

const point = { lat: 48.2, lng: 16.37 };

async function create({ token }: TestUser, body: object = {}): Promise<string> {
  const sent = { name: "Café", location: "48.2,16.37", readPermissions: "App", ...body };
  const { status, body: answer, text } = await test.call("POST /locations", { token, body: sent });
  assert.equal(status, 201, text);
  return answer.result.id;
}

function checkIn({ token }: TestUser, location: unknown, body: object = {}): Promise<Answer> {
  return test.call("POST /checkins", { token, body: { location, readPermissions: "App", ...body } });
}

async function seenBy({ token }: TestUser, checkinId: string): Promise<unknown> {
  const [read, found] = [
    await test.call(`GET /checkins/${checkinId}`, { token }),
    await test.call("GET /checkins?pageSize=1000", { token }),
  ];
  const listed = found.body.result.pageResults.find(({ id }: { id: string }) => id === checkinId);
  assert.deepEqual(listed, read.body.result, "a search shows what a read shows");
  return read.body.result.location;
}

// spec/locations#ids-of-locations
describe("the id of a location instead of a point", () => {
  it("is accepted wherever a user sends a location", async () => {
    const id = await create(jane);
    const { token } = john;
    const calls: [string, object][] = [
      ["PATCH /users/me", {}],
      ["PATCH /devices/current", {}],
      ["POST /checkins", {}],
      ["POST /locations", { name: "Next door" }],
      ["PUT /metadata/me/here", { value: 1 }],
      ["POST /devices/current/crashreports", { stackTrace: "Error: x" }],
    ];
    for (const [call, body] of calls) {
      const { status, text } = await test.call(call, { token, body: { ...body, location: id } });
      assert.ok(status < 300, `${call}: ${text}`);
    }
    const profile = await test.call("GET /users/me", { token });
    assert.deepEqual(profile.body.result.location, point);
    const item = await test.call("GET /metadata/me/here", { token });
    assert.deepEqual(item.body.result.location, point);
    const device = await test.call("GET /devices/current", { token });
    assert.deepEqual(device.body.result.location, point);
  });

  it("is accepted with a file, in a form and in a resumable upload", async () => {
    const id = await create(jane);
    const file = await upload(test, john.token, "/blobs", dataPart("bytes"), { location: id });
    assert.deepEqual(file.location, point);
    const path = await begin(test, john.token, 5, { kind: "blob", location: id });
    assert.equal((await sendBytes(test, john.token, path, 0, "bytes")).status, 204);
    const { body } = await test.call(`GET /blobs/${path.split("/").at(-1)}`, { token: john.token });
    assert.deepEqual(body.result.location, point);

    const own = await create(jane, { readPermissions: "User" });
    const refused = await createUpload(test, john.token, 5, { kind: "blob", location: own });
    assert.equal(refused.body.error, "ItemDoesNotExist");
  });

  it("stops a resumable upload if the caller can no longer read the location when it finishes", async () => {
    const id = await create(jane);
    const path = pathOf(await createUpload(test, john.token, 5, { kind: "blob", location: id }));
    await test.call(`DELETE /locations/${id}`, { token: jane.token });
    assert.equal((await sendBytes(test, john.token, path, 0, "bytes")).body.error, "FileUploadFailed");
  });

  it("every operation with a location declares ItemDoesNotExist", () => {
    const routes = test.app.routes.filter(({ parameters }) =>
      Object.values(parameters?.properties ?? {}).some(isLocationInput),
    );
    assert.ok(routes.length >= 12, `only ${routes.length}`);
    for (const route of routes) assert.ok(conditionsOf(route).includes("ItemDoesNotExist"), route.operation);
  });

  it("is refused identically when the caller may not read the location and when it never existed", async () => {
    const own = await create(jane, { readPermissions: "User" });
    const stranger = await test.signUp("Stranger", await test.createApplication());
    for (const [user, id] of [
      [john, own],
      [stranger, await create(jane)],
      [john, test.app.ids.newId("Location")],
    ] as const) {
      const { status, body } = await checkIn(user, id);
      assert.deepEqual([status, body.error, body.message], [404, "ItemDoesNotExist", "The item does not exist."]);
    }
    assert.equal((await checkIn(jane, own)).status, 201);
  });

  it("is refused without a user token, because only users read locations", async () => {
    const id = await create(jane);
    const { token } = await test.createOperator();
    const root = `/_/api/applications/${test.application.appid}`;
    const calls = [
      test.call("PATCH /devices/current", { token: jane.deviceToken, body: { location: id } }),
      test.call("POST /devices", { body: { ...test.application, platform: "test", location: id } }),
      test.call("POST /users", { token: jane.deviceToken, body: { username: "x", password: "correct", location: id } }),
      test.call(`POST ${root}/locations`, { token, body: { name: "x", location: id } }),
    ];
    for (const { body } of await Promise.all(calls)) assert.equal(body.error, "ItemDoesNotExist");
  });

  it("is refused if it is of another kind or not an id", async () => {
    const wrong = await checkIn(jane, jane.id);
    assert.deepEqual(
      [wrong.body.error, wrong.body.message],
      ["ParameterOutOfRange", "Incorrect id type, expected Location."],
    );
    for (const location of ["loc_1", "loc_", " ", ["1,2"], { id: await create(jane) }, true]) {
      assert.equal((await checkIn(jane, location)).body.error, "ParameterIncorrectFormat", JSON.stringify(location));
    }
    const area = await test.call(`GET /checkins?locationRange=${await create(jane)},500`, { token: jane.token });
    assert.equal(area.body.error, "ParameterIncorrectFormat", "a locationRange takes none");
  });

  it("works in a batch, for a location that the same batch creates, and with an idempotency key", async () => {
    const requests = [
      { key: "place", method: "POST", path: "/locations", parameters: { name: "Pier", location: "1,2" } },
      { key: "visit", method: "POST", path: "/checkins", parameters: { location: "{{place.result.id}}" } },
    ];
    for (const mode of ["atomic", "sequential"]) {
      const body = { mode, references: true, requests };
      const { result } = (await test.call("POST /batch", { token: john.token, body })).body;
      const [place, visit] = result.responses;
      assert.deepEqual(visit.result.location, { lat: 1, lng: 2, id: place.result.id, name: "Pier" }, mode);
    }
    const id = await create(jane);
    const once = { token: john.token, body: { location: id }, headers: { "idempotency-key": "here" } };
    const first = await test.call("POST /checkins", once);
    await test.call(`DELETE /locations/${id}`, { token: jane.token });
    const again = await test.call("POST /checkins", once);
    assert.deepEqual(again.body.result, first.body.result);
  });

  // P19
  it("is replaced by the fuzzed point if the user of the location has locationFuzzing, and by the true point for that user", async () => {
    const id = await create(fuzzy);
    const shown = (await test.call(`GET /locations/${id}`, { token: john.token })).body.result.location;
    assert.notDeepEqual(shown, point);
    const { body } = await checkIn(john, id);
    assert.deepEqual(body.result.location, { ...shown, id, name: "Café" });
    assert.deepEqual((await checkIn(fuzzy, id)).body.result.location, { ...point, id, name: "Café" });
  });
});

// spec/checkins#named-locations
describe("the id and name that a check-in stores of its location", () => {
  it("are shown to its own user as of that moment, even after the location is changed, hidden or deleted", async () => {
    const id = await create(jane);
    const { result } = (await checkIn(john, id)).body;
    const named = { ...point, id, name: "Café" };
    assert.deepEqual(result.location, named);
    for (const body of [{ name: "Bar", location: "1,2" }, { readPermissions: "User" }]) {
      await test.call(`PATCH /locations/${id}`, { token: jane.token, body });
      assert.deepEqual(await seenBy(john, result.id), named);
    }
    await test.call(`DELETE /locations/${id}`, { token: jane.token });
    assert.deepEqual(await seenBy(john, result.id), named);
    const operator = await test.createOperator();
    const path = `/_/api/applications/${test.application.appid}/checkins/${result.id}`;
    assert.deepEqual((await test.call(`GET ${path}`, { token: operator.token })).body.result.location, named);
  });

  it("are shown to other users only while they may read the location", async () => {
    const reader = await test.signUp();
    const id = await create(jane);
    const { id: checkinId } = (await checkIn(john, id)).body.result;
    assert.deepEqual(await seenBy(reader, checkinId), { ...point, id, name: "Café" });
    const share = (readPermissions: string) =>
      test.call(`PATCH /locations/${id}`, { token: jane.token, body: { readPermissions } });
    await share("User");
    assert.deepEqual(await seenBy(reader, checkinId), point);
    assert.deepEqual(await seenBy(jane, checkinId), { ...point, id, name: "Café" }, "jane reads her own");
    await share("App");
    assert.deepEqual(await seenBy(reader, checkinId), { ...point, id, name: "Café" });
    await test.call(`DELETE /locations/${id}`, { token: jane.token });
    assert.deepEqual(await seenBy(reader, checkinId), point);
  });

  // P19
  it("are not shown to other users if its user has locationFuzzing, at a public location or an own one", async () => {
    const user = await test.signUp();
    const { token } = await test.createOperator();
    const root = `/_/api/applications/${test.application.appid}/locations`;
    const made = await test.call(`POST ${root}`, { token, body: { name: "Opera", location: point } });
    const places = [made.body.result.id, await create(user)];
    await test.call("PATCH /users/me", { token: user.token, body: { locationFuzzing: true } });
    for (const id of places) {
      const { id: checkinId } = (await checkIn(user, id, { writePermissions: "App" })).body.result;
      const seen = Object(await seenBy(john, checkinId));
      assert.deepEqual(Object.keys(seen), ["lat", "lng"]);
      assert.notDeepEqual(seen, point);
      const changed = await test.call(`PATCH /checkins/${checkinId}`, { token: john.token, body: { comment: "x" } });
      assert.deepEqual(changed.body.result.location, seen);
      assert.equal(Object(await seenBy(user, checkinId)).id, id);
      const near = await test.call("GET /checkins?locationRange=48.2,16.37,400", { token: john.token });
      assert.doesNotMatch(near.text, new RegExp(checkinId));
    }
  });

  // P19, and privacy that is switched on late: hostile.md 40
  it("are hidden from other users when its user turns on locationFuzzing", async () => {
    const user = await test.signUp();
    const id = await create(jane);
    const { id: checkinId } = (await checkIn(user, id)).body.result;
    assert.deepEqual(await seenBy(john, checkinId), { ...point, id, name: "Café" });
    await test.call("PATCH /users/me", { token: user.token, body: { locationFuzzing: true } });
    assert.deepEqual(Object.keys(Object(await seenBy(john, checkinId))), ["lat", "lng"]);
    await test.call("PATCH /users/me", { token: user.token, body: { locationFuzzing: false } });
    assert.deepEqual(await seenBy(john, checkinId), { ...point, id, name: "Café" });
  });

  it("are removed by a change to a point, not by sending the shown point back, and cannot be set by a client", async () => {
    const [id, other] = [await create(jane), await create(jane, { name: "Bar", location: "1,2" })];
    const { result } = (await checkIn(john, id)).body;
    const patch = async (location: unknown) => {
      const answer = await test.call(`PATCH /checkins/${result.id}`, { token: john.token, body: { location } });
      return answer.body.result.location;
    };
    assert.deepEqual(await patch(result.location), result.location, "an echo");
    assert.deepEqual(await patch("48.2, 16.37"), result.location, "the same point");
    assert.deepEqual(await patch({ lat: 5, lng: 6, id: other, name: "Forged" }), { lat: 5, lng: 6 });
    assert.deepEqual(await patch(other), { lat: 1, lng: 2, id: other, name: "Bar" });
    assert.deepEqual(await patch("1,3"), { lat: 1, lng: 3 });
    const forged = await checkIn(john, { lat: 1, lng: 2, id, name: "Forged" });
    assert.deepEqual(forged.body.result.location, { lat: 1, lng: 2 });
  });

  it("are matched by no search", async () => {
    const id = await create(jane);
    const user = await test.signUp();
    await checkIn(user, id);
    await checkIn(user, "1,2");
    for (const query of [`location=${id}`, `locationId=${id}`, `locationID=${id}`, `id=${id}`]) {
      const { body } = await test.call(`GET /checkins?userID=me&${query}`, { token: user.token });
      assert.equal(body.result.pageResults.length, 2, query);
    }
  });
});
