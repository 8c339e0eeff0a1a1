import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { destination, distanceMeters, type Location } from "../src/lib/locations.ts";
import { createRandom, distinct, pointsBetween, pointWithin } from "./attacker.ts";
import { startTestApp, type TestApp, type TestUser } from "./harness.ts";
import {
  assertFarOff,
  assertHidden,
  assertMovedAsOne,
  assertShifted,
  type CheckIn,
  createPeople,
  each,
  memoryForPages,
} from "./people.ts";

/**
 * The adversary of spec/privacy#adversary: another user with unlimited reads, who knows the algorithm, but no secret
 * and no true place. For searches see `privacy.searches.test.ts`.
 */

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
const centers: readonly Location[] = [
  vienna,
  { lat: -33.87, lng: 151.21 },
  { lat: 0, lng: 0 },
  { lat: 69.65, lng: 18.96 },
  { lat: 89.995, lng: 40 },
  { lat: -89.99, lng: -120 },
  { lat: 52, lng: 179.9999 },
  { lat: -16.8, lng: -179.9995 },
];

describe("locationFuzzing: a user who stays within 250 m of a place", () => {
  it("no estimate of the place comes closer than 400 m, anywhere on Earth", async () => {
    await each(24, async (n) => {
      const random = createRandom(n);
      const place = centers[n % centers.length] ?? vienna;
      const user = await people.signUpFuzzed();
      const made = await people.checkInAll(
        user,
        Array.from({ length: n === 0 ? 200 : 8 }, () => pointWithin(place, 250, random)),
      );
      const shown = assertShifted(made, await people.gatherShown(user, attacker));
      assertHidden(shown, place);
      assert.ok(distinct(shown).length <= 4, "moves within the place change the fuzzed location");
    });
  });
});

describe("locationFuzzing: a user who commutes between two places", () => {
  for (const meters of [3_000, 30_000, 150_000]) {
    for (const stops of [0, 12]) {
      it(`neither place is found, ${meters / 1_000} km apart, with ${stops} check-ins on the way`, async () => {
        await each(4, async (n) => {
          const random = createRandom(1_000 + n);
          const home = centers[n % 4] ?? vienna;
          const work = destination(home, random() * 360, meters);
          const user = await people.signUpFuzzed();
          const made = { home: [] as CheckIn[], work: [] as CheckIn[], way: [] as CheckIn[] };
          const dwell = (place: Location) => Array.from({ length: 4 }, () => pointWithin(place, 250, random));
          for (let day = 0; day < 2; day++) {
            made.home.push(...(await people.checkInAll(user, dwell(home))));
            if (day > 0) made.way.push(...(await people.checkInAll(user, pointsBetween(home, work, stops))));
            made.work.push(...(await people.checkInAll(user, dwell(work))));
          }
          const shown = await people.gatherShown(user, attacker);
          assertShifted(made.way, shown);
          assertHidden(assertShifted(made.home, shown), home);
          assertHidden(assertShifted(made.work, shown), work);
          const firsts = firstOfEach([...made.home, ...made.work, ...made.way].sort(byId), shown);
          assertMovedAsOne(firsts.truths, firsts.shown, 0.5);
        });
      });
    }
  }
});

const byId = (a: CheckIn, b: CheckIn) => (a.id < b.id ? -1 : 1);

/** Returns the moments when a fuzzed location appears for the first time: the data of a jump analysis. */
function firstOfEach(checkIns: readonly CheckIn[], shown: ReadonlyMap<string, Location>) {
  const seen = new Set<string>();
  const firsts = checkIns.filter(({ id }) => {
    const key = JSON.stringify(shown.get(id));
    return !seen.has(key) && seen.add(key);
  });
  return { truths: firsts.map(({ truth }) => truth), shown: firsts.map(({ id }) => shown.get(id) ?? vienna) };
}

describe("locationFuzzing: a check-in that is repeatedly moved by a few metres", () => {
  it("its fuzzed location stays far from it, and its jumps reveal nothing about the shift", async () => {
    await each(4, async (n) => {
      const random = createRandom(2_000 + n);
      const user = await people.signUpFuzzed();
      let truth = centers[n % 4] ?? vienna;
      const { id } = await people.checkIn(user, truth);
      const truths = [truth];
      const shown = [await people.readLocation(id, attacker)];
      const jumps = { truths: [truth], shown: [...shown] };
      const bearing = random() * 360;
      for (let step = 0; step < 80; step++) {
        truth = destination(truth, bearing + 30 * random(), 5 + 8 * random());
        await people.move(id, truth, user);
        const seen = await people.readLocation(id, attacker);
        assertFarOff(seen, truth);
        if (distanceMeters(seen, shown.at(-1) ?? seen) > 0) {
          jumps.truths.push(truth);
          jumps.shown.push(seen);
        }
        truths.push(truth);
        shown.push(seen);
      }
      assert.ok(jumps.shown.length >= 2);
      assertMovedAsOne(jumps.truths, jumps.shown, 0.5);
      const [middle = truth] = truths.slice(40);
      assertHidden(shown, middle);
      for (const [at, to] of jumps.shown.entries()) {
        const from = jumps.shown[at - 1];
        if (from !== undefined) assertHidden([from, to], jumps.truths[at] ?? middle);
      }
    });
  });
});
