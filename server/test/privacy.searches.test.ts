import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { bearingTo, destination, distanceMeters, type Location } from "../src/lib/locations.ts";
import { createRandom, findDistance, pointWithin, trilaterate } from "./attacker.ts";
import { startTestApp, type TestApp, type TestUser } from "./harness.ts";
import { assertFarOff, type CheckIn, createPeople, each, memoryForPages, text } from "./people.ts";

/** Searches, other writers and changes of the setting reveal nothing more about users with locationFuzzing. */

let test: TestApp;
let people: ReturnType<typeof createPeople>;
let attacker: TestUser;
before(async () => {
  test = await startTestApp(memoryForPages);
  people = createPeople(test);
  attacker = await test.signUp("Attacker");
});
after(() => test.close());

const vienna = { lat: 48.2082, lng: 16.3738 };
const places: readonly Location[] = [vienna, { lat: 89.99, lng: 40 }, { lat: -16.8, lng: -179.9995 }];

/**
 * Returns the point where three circles around a place meet, each as small as a search allows that still finds the
 * object.
 */
async function locateBySearches(
  path: string,
  query: Record<string, string>,
  id: string,
  around: Location,
  reader = attacker,
): Promise<Location> {
  const circles = await each(3, async (n) => {
    const center = destination(around, 10 + n * 120, 4_000);
    const meters = await findDistance(async (radius) => {
      const range = { ...query, locationRange: `${text(center)},${radius}` };
      const { pageResults } = await people.search(path, range, reader);
      return pageResults.some((found: { id: string }) => found.id === id);
    }, 20_000);
    return { center, meters };
  });
  return trilaterate(circles, around);
}

// spec/privacy#fuzzed-locations
describe("locationFuzzing: searches by others", () => {
  it("circles of any size match the fuzzed location of a check-in for others, and the true one for its owner", async () => {
    for (const place of places) {
      const user = await people.signUpFuzzed();
      const { id } = await people.checkIn(user, place);
      const shown = await people.readLocation(id, attacker);
      assertFarOff(shown, place);
      const found = await locateBySearches("checkins", { userID: user.id }, id, place);
      assert.ok(distanceMeters(found, shown) < 3, `${distanceMeters(found, shown)} m off the shown point`);
      const own = await locateBySearches("checkins", { userID: "me" }, id, place, user);
      assert.ok(distanceMeters(own, place) < 3);
    }
  });

  it("boxes match the fuzzed location, too", async () => {
    const user = await people.signUpFuzzed();
    const { id } = await people.checkIn(user, vienna);
    const shown = await people.readLocation(id, attacker);
    for (const [at, reader] of [
      [shown, attacker],
      [vienna, user],
    ] as const) {
      for (const [isIn, south, north, west, east] of [
        [true, -1e-9, 1e-9, -1e-9, 1e-9],
        [true, 0, 0, 0, 0],
        [false, 1e-9, 1, -1, 1],
        [false, -1, -1e-9, -1, 1],
        [false, -1, 1, 1e-9, 1],
        [false, -1, 1, -1, -1e-9],
      ] as const) {
        const corners = { southWest: move(at, south, west), northEast: move(at, north, east) };
        const locationRange = `${text(corners.southWest)}-${text(corners.northEast)}`;
        const { pageResults } = await people.search("checkins", { userID: user.id, locationRange }, reader);
        assert.equal(pageResults.length, isIn ? 1 : 0, locationRange);
      }
    }
  });

  it("the order by distance is that of the fuzzed locations, from any point", async () => {
    const random = createRandom(7);
    const users = await each(6, () => people.signUpFuzzed());
    const made = new Map<string, Location>();
    for (const user of users) {
      const truth = pointWithin(vienna, 3_000, random);
      const { id } = await people.checkIn(user, truth, { tag: "by distance" });
      made.set(id, await people.readLocation(id, attacker));
    }
    for (let n = 0; n < 25; n++) {
      const center = pointWithin(vienna, 6_000, random);
      const query = { tag: "by distance", locationRange: `${text(center)},50000`, sortOrder: "distance" };
      const { pageResults } = await people.search("checkins", query, attacker);
      const byShown = [...made].sort(([, a], [, b]) => distanceMeters(center, a) - distanceMeters(center, b));
      assert.deepEqual(
        pageResults.map(({ id }: CheckIn) => id),
        byShown.map(([id]) => id),
      );
    }
  });

  it("page tokens of these searches are sealed", async () => {
    const user = await people.signUpFuzzed();
    for (let n = 0; n < 3; n++) await people.checkIn(user, vienna);
    const query = { userID: user.id, locationRange: `${text(vienna)},9000`, sortOrder: "distance", pageSize: "1" };
    const { nextToken, currentToken } = await people.search("checkins", query, attacker);
    for (const token of [nextToken, currentToken]) {
      const opened = Buffer.from(token.replaceAll(".", ""), "base64url").toString("latin1");
      for (const word of ["48.2", "16.3", "distance", user.id]) assert.ok(!opened.includes(word));
    }
    const { status } = await test.call(`GET /checkins?pagingToken=${nextToken}`, { token: user.token });
    assert.equal(status, 400);
  });
});

describe("locationFuzzing: the location of a profile", () => {
  it("is hidden from other users, matched by its fuzzed location, and shifted in random directions", async () => {
    const isNearCheckIn: boolean[] = [];
    const bearings = await each(48, async (n) => {
      const random = createRandom(3_000 + n);
      const truth = pointWithin(places[n % 3] ?? vienna, 500, random);
      const body = { location: text(truth), locationFuzzing: true };
      const user = await test.signUp();
      const changed = await test.call("PATCH /users/me", { token: user.token, body });
      assert.deepEqual(changed.body.result.location, truth);
      const { result } = (await test.call(`GET /users/${user.id}`, { token: attacker.token })).body;
      assert.deepEqual(Object.keys(result), ["id", "userName", "created"]);
      const { id } = await people.checkIn(user, truth);
      const shown = await people.readLocation(id, attacker);
      assertFarOff(shown, truth);
      if (n < 3) {
        const found = await locateBySearches("users", {}, user.id, truth);
        assertFarOff(found, truth);
        isNearCheckIn.push(distanceMeters(found, shown) < 3);
        const own = await locateBySearches("users", {}, user.id, truth, user);
        assert.ok(distanceMeters(own, truth) < 3);
      }
      return (bearingTo(truth, shown) * Math.PI) / 180;
    });
    // Two random shifts of a kilometre meet in one case of a thousand, and hardly in three of three.
    assert.ok(isNearCheckIn.includes(false), "the profile has its own random shift");
    const north = bearings.reduce((total, bearing) => total + Math.cos(bearing), 0) / bearings.length;
    const east = bearings.reduce((total, bearing) => total + Math.sin(bearing), 0) / bearings.length;
    assert.ok(Math.hypot(north, east) < 0.6, "for random directions one run in thirty million is above");
  });
});

// spec/privacy#switching
describe("locationFuzzing turned on and off", () => {
  it("existing check-ins are fuzzed from the response on, and have the same fuzzed locations after the setting is off and on again", async () => {
    await each(2, async (n) => {
      const random = createRandom(4_000 + n);
      const user = await test.signUp();
      const made: CheckIn[] = [];
      for (let at = 0; at < 12; at++) made.push(await people.checkIn(user, pointWithin(vienna, 2_000, random)));
      const before = await people.gatherShown(user, attacker);
      for (const { id, truth } of made) assert.deepEqual(before.get(id), truth);

      await people.setFuzzing(user, true);
      const first = await people.gatherShown(user, attacker);
      for (const { id, truth } of made) assertFarOff(first.get(id) ?? truth, truth);
      await people.setFuzzing(user, false);
      assert.deepEqual(await people.gatherShown(user, attacker), before);
      await people.setFuzzing(user, true);
      assert.deepEqual(await people.gatherShown(user, attacker), first);
      assert.deepEqual(await people.gatherShown(user, user), before);
    });
  });

  it("check-ins that are moved during the change have their new locations", async () => {
    const user = await test.signUp();
    const made: CheckIn[] = [];
    for (let at = 0; at < 12; at++) made.push(await people.checkIn(user, vienna));
    const moves = new Map(made.map(({ id }, n) => [id, destination(vienna, n * 30, 5_000)]));
    for (let round = 0; round < 4; round++) {
      const toggled = people.setFuzzing(user, round % 2 === 0);
      await Promise.all([...moves].map(([id, to]) => people.move(id, destination(to, 0, round), user)));
      await toggled;
      for (const [id, to] of moves) {
        assert.ok(distanceMeters(await people.readLocation(id, user), destination(to, 0, round)) < 0.001);
        const seen = await people.readLocation(id, attacker);
        if (round % 2 === 0) assertFarOff(seen, destination(to, 0, round));
      }
    }
  });
});

// spec/privacy#echoes-and-other-writers
describe("locationFuzzing: a check-in that other users may write", () => {
  /**
   * Counts how often another user learns the shift at the owner's home by moving one of the owner's check-ins to a
   * known true location.
   */
  async function countRevealed(isBefore: boolean, moveIt: (id: string, user: TestUser) => Promise<void>) {
    const hits = await each(12, async (n) => {
      const random = createRandom(5_000 + n);
      const user = await test.signUp();
      const home = await people.checkIn(user, pointWithin(vienna, 20_000, random));
      const open = await people.checkIn(user, pointWithin(vienna, 20_000, random), { writePermissions: "App" });
      if (!isBefore) await people.setFuzzing(user, true);
      const known = pointWithin(vienna, 20_000, random);
      await people.move(open.id, known, attacker);
      if (isBefore) await people.setFuzzing(user, true);
      await moveIt(open.id, user);
      assert.ok(distanceMeters(await people.readLocation(open.id, user), known) < 0.001);
      const shift = { from: known, to: await people.readLocation(open.id, attacker) };
      const back = bearingTo(shift.to, shift.from);
      const shownHome = await people.readLocation(home.id, attacker);
      const guess = destination(shownHome, back, distanceMeters(shift.from, shift.to));
      return distanceMeters(guess, home.truth) < 400;
    });
    return hits.filter(Boolean).length;
  }
  // One random guess in eight comes so close: ten of twelve once in ten million runs.
  const chanceMax = 9;

  it("its shift reveals nothing about the shifts of the owner's places", async () => {
    assert.ok((await countRevealed(false, async () => {})) <= chanceMax);
  });

  it("its shift reveals nothing if the owner's app sends the complete check-in back", async () => {
    const sendBack = async (id: string, { token }: TestUser) => {
      const { result } = (await test.call(`GET /checkins/${id}`, { token })).body;
      await test.call(`PATCH /checkins/${id}`, { token, body: { ...result, comment: "Mine" } });
    };
    assert.ok((await countRevealed(false, sendBack)) <= chanceMax);
  });

  it("its shift reveals nothing if the owner turns on the setting afterwards", async () => {
    assert.ok((await countRevealed(true, async () => {})) <= chanceMax);
  });

  it("another writer who sends back the fuzzed location does not overwrite the true one", async () => {
    const user = await people.signUpFuzzed();
    const { id, truth } = await people.checkIn(user, vienna, { writePermissions: "App" });
    const { result } = (await test.call(`GET /checkins/${id}`, { token: attacker.token })).body;
    const body = { ...result, comment: "Nice" };
    const answer = await test.call(`PATCH /checkins/${id}`, { token: attacker.token, body });
    assert.deepEqual(answer.body.result.location, result.location);
    assert.deepEqual(await people.readLocation(id, user), truth);
  });
});

function move({ lat, lng }: Location, north: number, east: number): Location {
  return { lat: lat + north, lng: lng + east };
}
