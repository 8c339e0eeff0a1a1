import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Answer, assertError, startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";
import { checkinRow, insertCheckins } from "../../test/rows.ts";
import { dataPart, png, upload } from "../../test/uploads.ts";
import { carrierKinds } from "../lib/kinds.ts";

let test: TestApp;
let owner: TestUser;
let other: TestUser;
/** A second device of the owner. */
let elsewhere: string;
let stranger: TestUser;
before(async () => {
  test = await startTestApp();
  owner = await test.signUp();
  other = await test.signUp();
  const deviceToken = await test.registerDevice();
  const body = { username: owner.userName, password: owner.password };
  elsewhere = (await test.call("POST /users/login", { token: deviceToken, body })).body.result.accessToken;
  stranger = await test.signUp("stranger", await test.createApplication());
});
after(() => test.close());

const keyOperations = ["PUT", "GET", "POST", "DELETE"] as const;

function call(verb: string, id: string, visibility: string, token: string): Promise<Answer> {
  const bodies: Record<string, object> = { PUT: { value: 1 }, POST: {}, DELETE: {} };
  const path = `/metadata/${id}/key${verb === "POST" ? "/increment" : ""}`;
  if (verb === "GET") return test.call(`GET ${path}?visibility=${visibility}`, { token });
  return test.call(`${verb} ${path}`, { token, body: { ...bodies[verb], visibility } });
}

/** Returns the statuses of the operations in the order of `keyOperations`, then of the bulk PUT and the listing. */
async function outcomes(id: string, visibility: string, token: string): Promise<string> {
  const answers: Answer[] = [];
  for (const verb of keyOperations) answers.push(await call(verb, id, visibility, token));
  answers.push(await test.call(`PUT /metadata/${id}`, { token, body: { values: { b: 1 }, visibility } }));
  answers.push(await test.call(`GET /metadata/${id}?visibility=${visibility}`, { token }));
  for (const { body, text } of answers) {
    if (body.error !== "ItemDoesNotExist") continue;
    const envelope = JSON.stringify({ ...body, request_id: "" });
    assert.equal(envelope, missing, text);
  }
  return answers.map(({ status }) => status).join(" ");
}

const missing = JSON.stringify({
  status: 404,
  error: "ItemDoesNotExist",
  errorNumber: 769,
  message: "The item does not exist.",
  request_id: "",
  success: false,
});

const allowed = "201 200 200 200 200 200";
const nothingThere = "404 404 404 404 404 404";
const readOnly = "403 404 403 403 403 200"; // the key does not exist
const needsUser = "403 403 403 403 403 403";

async function deviceIdOf(token: string): Promise<string> {
  return (await test.call("GET /devices/current", { token })).body.result.id;
}

const owned = ["checkins", "pictures", "videos", "blobs"];

/** Creates a check-in or a file of the owner. */
async function make(collection: string, permissions: Readonly<Record<string, unknown>>): Promise<string> {
  if (collection !== "checkins") {
    return (await upload(test, owner.token, `/${collection}`, dataPart(await png(1, 1)), permissions)).id;
  }
  const body = { location: "1,2", ...permissions };
  return (await test.call("POST /checkins", { token: owner.token, body })).body.result.id;
}

describe("permissions on the metadata of an object: spec/metadata#metadata-permissions", () => {
  it("give any token the shared slot of its application, every user an own slot, and other applications no access", async () => {
    const { appid } = test.application;
    for (const id of ["app", "APP", appid]) {
      for (const token of [owner.token, other.token, owner.deviceToken]) {
        assert.equal(await outcomes(id, "App", token), allowed);
      }
      assert.equal(await outcomes(id, "User", owner.token), allowed);
      assert.equal(await outcomes(id, "User", owner.deviceToken), needsUser);
    }
    for (const visibility of ["App", "User"])
      assert.equal(await outcomes(appid, visibility, stranger.token), nothingThere);
  });

  it("give a user both slots of the user, and others only read access to the shared one", async () => {
    for (const id of ["me", "Me", owner.id]) {
      for (const visibility of ["App", "User"]) assert.equal(await outcomes(id, visibility, owner.token), allowed);
    }
    for (const visibility of ["App", "User"]) assert.equal(await outcomes(owner.id, visibility, other.token), readOnly);
    assert.equal(await outcomes(owner.id, "App", other.deviceToken), readOnly);
    assert.equal(await outcomes(owner.id, "User", owner.deviceToken), needsUser);
    for (const visibility of ["App", "User"])
      assert.equal(await outcomes("me", visibility, owner.deviceToken), needsUser);
    assert.equal(await outcomes(owner.id, "App", stranger.token), nothingThere);
    await call("PUT", "me", "App", owner.token);
    assert.equal((await call("GET", owner.id, "App", other.token)).body.result.value, 1);
    assert.equal((await call("GET", owner.id, "App", other.deviceToken)).body.result.value, 1);
    await call("PUT", "me", "User", owner.token);
    assert.equal((await call("GET", owner.id, "User", other.token)).status, 404);
  });

  it("hide a user in celebMode from all other callers", async () => {
    const famous = await test.signUp();
    await call("PUT", "me", "App", famous.token);
    await test.call("PATCH /users/me", { token: famous.token, body: { celebMode: true } });
    for (const token of [other.token, other.deviceToken])
      assert.equal(await outcomes(famous.id, "App", token), nothingThere);
    assert.equal(await outcomes(famous.id, "User", other.token), nothingThere);
    assert.equal((await call("GET", famous.id, "App", famous.token)).body.result.value, 1);
  });

  it("give access to a device only to its own tokens, for any signed-in user", async () => {
    const deviceId = await deviceIdOf(owner.deviceToken);
    for (const id of ["current", "Current", deviceId]) {
      for (const token of [owner.token, owner.deviceToken]) assert.equal(await outcomes(id, "App", token), allowed);
      assert.equal(await outcomes(id, "User", owner.token), allowed);
    }
    for (const token of [elsewhere, other.token, other.deviceToken, stranger.token]) {
      assert.equal(await outcomes(deviceId, "App", token), nothingThere);
    }
    assert.equal(await outcomes(deviceId, "User", elsewhere), nothingThere);
  });

  for (const collection of owned) {
    it(`give for ${collection} an own slot with read permission, and the shared one with write permission`, async () => {
      for (const [permissions, own, shared] of [
        [{}, nothingThere, nothingThere],
        [{ readPermissions: "App" }, allowed, readOnly],
        [{ readPermissions: "App", writePermissions: "App" }, allowed, allowed],
      ] as const) {
        const id = await make(collection, permissions);
        for (const visibility of ["App", "User"]) assert.equal(await outcomes(id, visibility, owner.token), allowed);
        assert.equal(await outcomes(id, "User", other.token), own);
        for (const token of [other.token, other.deviceToken, owner.deviceToken]) {
          assert.equal(await outcomes(id, "App", token), shared);
        }
        assert.equal(await outcomes(id, "User", other.deviceToken), needsUser);
        for (const visibility of ["App", "User"])
          assert.equal(await outcomes(id, visibility, stranger.token), nothingThere);
      }
    });

    it(`give no access to an own slot for ${collection} while the object is not shared with the user`, async () => {
      const id = await make(collection, { readPermissions: "App" });
      await call("PUT", id, "User", other.token);
      const change = (readPermissions: string) =>
        test.call(`PATCH /${collection}/${id}`, { token: owner.token, body: { readPermissions } });
      await change("User");
      assert.equal(await outcomes(id, "User", other.token), nothingThere);
      await change("App");
      assert.equal((await call("GET", id, "User", other.token)).body.result.value, 1);
      assert.equal((await call("GET", id, "User", owner.token)).status, 404);
    });
  }

  it("hide from other users a check-in without its fuzzed location, or whose owner is being deleted", async () => {
    const { appid } = test.application;
    const hidden = await test.signUp();
    const id = test.app.ids.newId("Checkin");
    await insertCheckins(test, [checkinRow({ application_id: appid, id, user_id: hidden.id, read_permission: 1 })]);
    const set = (columns: { location_fuzzing?: number; deleted_at?: number | null }) =>
      test.app.database.write(({ queries }) =>
        queries.updateTable("users").set(columns).where("id", "=", hidden.id).execute(),
      );
    assert.equal((await call("PUT", id, "User", other.token)).status, 201);
    await set({ location_fuzzing: 1 });
    assert.equal(await outcomes(id, "User", other.token), nothingThere);
    await set({ location_fuzzing: 0, deleted_at: 1 });
    for (const each of [id, hidden.id]) {
      for (const visibility of ["App", "User"])
        assert.equal(await outcomes(each, visibility, other.token), nothingThere);
    }
    await set({ deleted_at: null });
  });

  it("do the same for a file, except that a file without a location needs no fuzzed one", async () => {
    const hidden = await test.signUp();
    const shared = { readPermissions: "App" };
    const [anywhere, somewhere] = [
      await upload(test, hidden.token, "/blobs", dataPart("x"), shared),
      await upload(test, hidden.token, "/blobs", dataPart("x"), { ...shared, location: "1,2" }),
    ];
    const set = (columns: { location_fuzzing?: number; deleted_at?: number | null }) =>
      test.app.database.write(({ queries }) =>
        queries.updateTable("users").set(columns).where("id", "=", hidden.id).execute(),
      );
    for (const { id } of [anywhere, somewhere]) assert.equal((await call("PUT", id, "User", other.token)).status, 201);
    await set({ location_fuzzing: 1 }); // only the setting, without the fuzzed location
    assert.equal(await outcomes(somewhere.id, "User", other.token), nothingThere);
    assert.equal((await call("GET", anywhere.id, "User", other.token)).status, 200);
    await set({ location_fuzzing: 0, deleted_at: 1 });
    for (const { id } of [anywhere, somewhere]) {
      for (const visibility of ["App", "User"]) assert.equal(await outcomes(id, visibility, other.token), nothingThere);
    }
    await set({ deleted_at: null });
  });
});

// spec/metadata#objects-with-metadata
describe("the id in /metadata/{id}", () => {
  it("is refused with 400 ParameterIncorrectFormat if it is not an id, and ParameterOutOfRange if it is of a kind without metadata", async () => {
    for (const id of ["nobody", "0", "mine", "__proto__", "app%20", "apps", `${owner.id}x`]) {
      const answer = await test.call(`GET /metadata/${id}/key`, { token: owner.token });
      assertError(answer, 400, "ParameterIncorrectFormat", 515, "id must be an id.");
    }
    for (const kind of ["Token", "CrashReport", "Place", "ApplicationKey"] as const) {
      const answer = await test.call(`GET /metadata/${test.app.ids.newId(kind)}`, { token: owner.token });
      const expected = `${carrierKinds.slice(0, -1).join(", ")} or ${carrierKinds.at(-1)}`;
      const message = `Incorrect id type, expected ${expected}.`;
      assertError(answer, 400, "ParameterOutOfRange", 514, message);
    }
  });

  it("is answered with a byte-identical 404 for every object that does not exist", async () => {
    for (const kind of carrierKinds) {
      const id = test.app.ids.newId(kind);
      for (const visibility of ["App", "User"]) assert.equal(await outcomes(id, visibility, owner.token), nothingThere);
    }
  });
});
