import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";
import { assertFarOff, createPeople } from "../../test/people.ts";
import { maintain } from "../app/maintenance.ts";
import type { Location } from "../lib/locations.ts";

let test: TestApp;
let people: ReturnType<typeof createPeople>;
let reader: TestUser;
before(async () => {
  test = await startTestApp();
  people = createPeople(test);
  reader = await test.signUp();
});
after(() => test.close());

const home: Location = { lat: 48.2, lng: 16.3 };

function put(path: string, token: string, location: Location, visibility = "App"): Promise<unknown> {
  const body = { value: 1, visibility, location: `${location.lat},${location.lng}` };
  return test.call(`PUT /metadata/${path}`, { token, body });
}

/**
 * Returns the location at which a caller sees a key of the application; the same by key and in every listing that has
 * it.
 */
async function seen(key: string, token: string, visibility = "App"): Promise<Location | undefined> {
  const { body } = await test.call(`GET /metadata/app/${key}?visibility=${visibility}`, { token });
  const listed = await test.call(`GET /metadata/app?key=${key}&visibility=${visibility}`, { token });
  assert.deepEqual(listed.body.result.pageResults, [body.result]);
  return body.result.location;
}

/** Whether a caller finds a key in a circle of a hundred metres. */
async function isFoundAt({ lat, lng }: Location, key: string, token: string): Promise<boolean> {
  const query = `visibility=App&locationRange=${lat},${lng},100&key=${key}`;
  const { body } = await test.call(`GET /metadata/app?${query}`, { token });
  return body.result.pageResults.length === 1;
}

// spec/metadata#metadata-locations
describe("the location of shared metadata as others see it", () => {
  it("is the true location, without locationFuzzing or if a device has set it, in results and searches", async () => {
    const user = await test.signUp();
    for (const [key, token] of [
      ["open", user.token],
      ["device", user.deviceToken],
    ] as const) {
      await put(`app/${key}`, token, home);
      for (const by of [user.token, reader.token, reader.deviceToken]) {
        assert.deepEqual(await seen(key, by), home);
        assert.equal(await isFoundAt(home, key, by), true);
      }
    }
  });

  it("is the fuzzed location with locationFuzzing, while the user who set it sees and finds the true one", async () => {
    const user = await people.signUpFuzzed();
    await put("app/fuzzed", user.token, home);
    assert.deepEqual(await seen("fuzzed", user.token), home);
    assert.equal(await isFoundAt(home, "fuzzed", user.token), true);
    const fuzzed = await seen("fuzzed", reader.token);
    assert.ok(fuzzed);
    assertFarOff(fuzzed, home);
    for (const token of [reader.token, reader.deviceToken, user.deviceToken]) {
      assert.deepEqual(await seen("fuzzed", token), fuzzed);
      assert.equal(await isFoundAt(home, "fuzzed", token), false);
      assert.equal(await isFoundAt(fuzzed, "fuzzed", token), true);
    }
    const checkIn = await people.checkIn(user, home);
    assert.deepEqual(await people.readLocation(checkIn.id, reader), fuzzed, "one place has one fuzzed location");
    const body = { visibility: "App" };
    const answer = await test.call("POST /metadata/app/fuzzed/increment", { token: reader.token, body });
    assert.deepEqual(answer.body.result.location, fuzzed);
  });

  it("is hidden in an own slot, which has the true location", async () => {
    const user = await people.signUpFuzzed();
    await put("app/own", user.token, home, "User");
    assert.deepEqual(await seen("own", user.token, "User"), home);
    const [row] = await test.app.database.reads
      .selectFrom("metadata")
      .selectAll()
      .where("slot", "=", user.id)
      .execute();
    assert.deepEqual([row?.setter_id, row?.seen_lat], [null, null]);
  });

  it("is that of the last user who PUT it", async () => {
    const [user, next] = [await people.signUpFuzzed(), await test.signUp()];
    await put("app/taken", user.token, home);
    await put("app/taken", next.token, { lat: 1, lng: 2 });
    assert.deepEqual(await seen("taken", user.token), { lat: 1, lng: 2 });
    await test.call("PUT /metadata/app/taken", { token: user.token, body: { value: 2, visibility: "App" } });
    assert.equal(await seen("taken", next.token), undefined);
  });

  it("follows a change of locationFuzzing, back to the same fuzzed locations, and is hidden during the change", async () => {
    const user = await test.signUp();
    const places = Array.from({ length: 300 }, (_, n) => ({ lat: 48 + n / 10, lng: 16 }));
    for (const [n, place] of places.entries()) await put(`app/move%20${n}`, user.token, place);
    const shared = async () => {
      const { body } = await test.call("GET /metadata/app?visibility=App&keyPrefix=move&pageSize=1000&sortOrder=key", {
        token: reader.token,
      });
      const items: { key: string; location?: Location }[] = body.result.pageResults;
      return new Map(items.map(({ key, location }) => [Number(key.slice(5)), location]));
    };
    const before = await shared();
    for (const [n, place] of places.entries()) assert.deepEqual(before.get(n), place);

    // Simulates another process that is killed right after storing the setting.
    await test.app.database.write(({ queries }) =>
      queries.updateTable("users").set({ location_fuzzing: 1, is_reshifting: 1 }).where("id", "=", user.id).execute(),
    );
    for (const location of (await shared()).values()) assert.equal(location, undefined);
    assert.equal(await isFoundAt(home, "move%200", reader.token), false);
    await maintain(test.app);
    const fuzzed = await shared();
    for (const [n, place] of places.entries()) assertFarOff(fuzzed.get(n) ?? place, place);

    await people.setFuzzing(user, false);
    await maintain(test.app);
    assert.deepEqual(await shared(), before);
    await people.setFuzzing(user, true);
    await maintain(test.app);
    assert.deepEqual(await shared(), fuzzed);
  });
});
