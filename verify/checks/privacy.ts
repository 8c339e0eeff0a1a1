import { group } from "../check.ts";
import type { Answer } from "../client.ts";
import { expectEqual, expectResult, expectThat } from "../expect.ts";
import { fuzzedUser, places, seen, signUpFuzzed, vienna } from "../fuzzed.ts";
import { format, metersBetween, moved, type Point } from "../globe.ts";
import { checkIn, checkInAll, forAll, idsOf, makeCheckin, search } from "../listing.ts";
import { changeUser, otherUser, signUp, uniqueName } from "../world.ts";

const roundingMeters = 0.5;

/** Expects a distance of 500 m to 1,500 m from the true location. @throws Failure */
function expectShifted(answer: Answer, shown: Point, truth: Point): void {
  const meters = metersBetween(shown, truth);
  const isShifted = meters >= 500 - roundingMeters && meters <= 1_500 + roundingMeters;
  expectThat(answer, isShifted, `a point 500 to 1,500 m off, not ${meters} m`);
}

/**
 * locationFuzzing: the locations that others and the owner see (spec/privacy#fuzzed-locations). Searches:
 * `private-searches`.
 */
export const privacy = group("privacy", (it) => {
  it("spec/privacy#fuzzed-locations · locationFuzzing: others see a point 500 to 1,500 m away, anywhere on Earth", async (world) => {
    const { ids } = await fuzzedUser(world);
    const { token } = await otherUser(world);
    for (const [index, id] of ids.entries()) {
      const { answer, location } = await seen(world, token, id);
      expectShifted(answer, location, places[index] ?? vienna);
      const { lat, lng } = location;
      expectThat(answer, Math.abs(lat) <= 90 && Math.abs(lng) <= 180, "a point that exists");
    }
  });
  it("spec/privacy#fuzzed-locations · locationFuzzing: the owner sees the true location after creating, reading, searching and changing", async (world) => {
    const { token } = (await fuzzedUser(world)).user;
    const made = await makeCheckin(world, token, { location: format(vienna), tag: uniqueName("tag") });
    const changed = await world.call(`PATCH /checkins/${made.id}`, { token, body: { comment: "x" } });
    const { answer, location } = await seen(world, token, made.id);
    const found = expectResult(await search(world, token, { tag: made.tag })).pageResults[0];
    const all = [made, expectResult(changed), { location }, found].map((checkin) => checkin.location);
    expectEqual(answer, "locations", all, [vienna, vienna, vienna, vienna]);
  });
  it("spec/privacy#fuzzed-locations · locationFuzzing: all reads, searches and readers see the same point", async (world) => {
    const { ids, user } = await fuzzedUser(world);
    const [reader, another] = [await otherUser(world), await signUp(world)];
    const { answer, location } = await seen(world, reader.token, ids[0] ?? "");
    for (const { token } of [reader, another, reader]) {
      const again = await seen(world, token, ids[0] ?? "");
      expectEqual(again.answer, "location", again.location, location);
      const found = await search(world, token, { userID: user.id, sortOrder: "created", pageSize: "1" });
      expectEqual(found, "location", expectResult(found).pageResults[0]?.location, location);
    }
    expectThat(answer, !answer.text.includes(format(vienna)), "no true location");
  });
  it("spec/privacy#fuzzed-locations · locationFuzzing: twenty check-ins at one place have the same fuzzed location", async (world) => {
    const user = await signUpFuzzed(world);
    const { token } = await otherUser(world);
    const same = { location: format(vienna), ...forAll };
    await checkInAll(world, user.token, new Array(10).fill(same));
    await Promise.all(Array.from({ length: 10 }, () => checkIn(world, user.token, same)));
    const found = await search(world, token, { userID: user.id });
    const points = expectResult(found).pageResults.map(({ location }: { location: Point }) => format(location));
    expectEqual(found, "number of check-ins and of points", [points.length, new Set(points).size], [20, 1]);
  });
  it("spec/privacy#adversary · locationFuzzing: the mean of the fuzzed locations of a stay within 250 m does not reveal it", async (world) => {
    const user = await signUpFuzzed(world);
    const { token } = await otherUser(world);
    const stay = Array.from({ length: 24 }, (_, index) => {
      const [radius, angle] = [[60, 150, 250][index % 3] ?? 0, index * 0.7];
      return moved(vienna, radius * Math.cos(angle), radius * Math.sin(angle));
    });
    await checkInAll(
      world,
      user.token,
      stay.map((point) => ({ location: format(point), readPermissions: "App" })),
    );
    const found = await search(world, token, { userID: user.id, sortOrder: "created" });
    const shown: Point[] = expectResult(found).pageResults.map(({ location }: { location: Point }) => location);
    expectEqual(found, "number of check-ins", shown.length, stay.length);
    for (const [index, point] of shown.entries()) expectShifted(found, point, stay[index] ?? vienna);
    const mean = (name: "lat" | "lng") => shown.reduce((sum, point) => sum + point[name], 0) / shown.length;
    const meters = metersBetween({ lat: mean("lat"), lng: mean("lng") }, vienna);
    expectThat(found, meters > 400, `points whose mean is more than 400 m off, not ${meters} m`);
  });
  it("spec/privacy#secrets-per-purpose · locationFuzzing: two users at one place have different fuzzed locations", async (world) => {
    const { token } = await otherUser(world);
    const fuzzed = [await signUpFuzzed(world), await signUpFuzzed(world)];
    const shown: Point[] = [];
    for (const user of fuzzed) {
      const id = await checkIn(world, user.token, { location: format(vienna), ...forAll });
      shown.push((await seen(world, token, id)).location);
    }
    const { answer } = await seen(world, token, (await fuzzedUser(world)).ids[0] ?? "");
    expectThat(answer, new Set(shown.map(format)).size === 2, `two points, not ${shown.map(format)}`);
  });
  it("spec/privacy#switching · locationFuzzing applies to existing check-ins: on, off, and on again with the same points", async (world) => {
    const user = await signUp(world);
    const { token } = await otherUser(world);
    const id = await checkIn(world, user.token, { location: format(vienna), readPermissions: "App" });
    const points: Point[] = [];
    for (const locationFuzzing of [false, true, false, true]) {
      await changeUser(world, user, { locationFuzzing });
      const { answer, location } = await seen(world, token, id);
      if (locationFuzzing) expectShifted(answer, location, vienna);
      else expectEqual(answer, "location", location, vienna);
      points.push(location);
    }
    const { answer } = await seen(world, token, id);
    expectEqual(answer, "the fuzzed location, both times", points[3], points[1]);
  });
  it("spec/privacy#echoes-and-other-writers · locationFuzzing: another user who sends back the fuzzed location does not move the true one", async (world) => {
    const user = await signUpFuzzed(world);
    const id = await checkIn(world, user.token, { location: format(vienna), ...forAll });
    const read = expectResult(await world.call(`GET /checkins/${id}`, { by: otherUser }));
    const changed = await world.call(`PATCH /checkins/${id}`, {
      by: otherUser,
      body: { ...read, comment: "by another" },
    });
    expectEqual(changed, "location for others", expectResult(changed).location, read.location);
    const { answer, location } = await seen(world, user.token, id);
    expectEqual(answer, "location for its owner", location, vienna);
  });
});

/** locationFuzzing in searches: others search fuzzed locations, the owner true ones (spec/privacy#fuzzed-locations). */
export const privateSearches = group("private-searches", (it) => {
  it("spec/privacy#fuzzed-locations · locationFuzzing: searches by others use the fuzzed location, the owner's use the true one", async (world) => {
    const { user, ids } = await fuzzedUser(world);
    const { token } = await otherUser(world);
    const id = ids[0] ?? "";
    const { location: shown } = await seen(world, token, id);
    const box = (center: Point) => `${format(moved(center, -5, -5))}-${format(moved(center, 5, 5))}`;
    for (const [point, isTrue] of [
      [vienna, true],
      [shown, false],
    ] as const) {
      for (const locationRange of [`${format(point)},5`, `${format(point)},490`, box(point)]) {
        const query = { userID: user.id, locationRange, created: `-${Date.now() + 86_400_000}` };
        const byOther = await search(world, token, query);
        expectEqual(byOther, "found by others", idsOf(byOther).includes(id), !isTrue);
        const byOwner = await search(world, user.token, query);
        expectEqual(byOwner, "found by the owner", idsOf(byOwner).includes(id), isTrue);
      }
    }
  });
  it("spec/privacy#fuzzed-locations · locationFuzzing: distances for others are those of the fuzzed locations", async (world) => {
    const { user } = await fuzzedUser(world);
    const { token } = await otherUser(world);
    const query = { userID: user.id, locationRange: `${format(vienna)},30000000`, sortOrder: "distance" };
    const answer = await search(world, token, query);
    const rows: { location: Point }[] = expectResult(answer).pageResults;
    const meters = rows.map(({ location }) => metersBetween(vienna, location));
    expectEqual(answer, "number of rows", rows.length, places.length);
    const sorted = meters.toSorted((a, b) => a - b);
    expectEqual(answer, "distances", meters, sorted);
  });
  it("spec/privacy#fuzzed-locations · locationFuzzing: others find users at the fuzzed location, and users find themselves at the true one", async (world) => {
    const user = await signUpFuzzed(world);
    const here = { location: format(vienna), readPermissions: "App" };
    const { location } = await changeUser(world, user, here);
    const { token } = await otherUser(world);
    const find = (reader: string, meters: number) => {
      const query = { userName: user.userName, locationRange: `${format(vienna)},${meters}` };
      return world.call("GET /users", { token: reader, query });
    };
    const own = await find(user.token, 5);
    expectEqual(own, "own location", [location, expectResult(own).pageResults[0]?.location], [vienna, vienna]);
    for (const [meters, expected] of [
      [490, []],
      [1_510, [user.id]],
    ] as const) {
      const found = await find(token, meters);
      expectEqual(found, `users within ${meters} m`, idsOf(found), expected);
      expectThat(found, !found.text.includes("location"), "no location");
    }
  });
  it("spec/privacy#fuzzed-locations · locationFuzzing: the fuzzed location of a check-in says nothing about that of its user", async (world) => {
    const { token } = await otherUser(world);
    const here = { location: format(vienna), readPermissions: "App" };
    // Two independent shifts may meet by chance, for one user in some 630; the same shift meets for every user.
    for (let usersLeft = 6; ; usersLeft -= 1) {
      const user = await signUpFuzzed(world);
      await changeUser(world, user, here);
      const { answer, location: shown } = await seen(world, token, await checkIn(world, user.token, here));
      const query = { userName: user.userName, locationRange: `${format(shown)},5` };
      const found = idsOf(await world.call("GET /users", { token, query }));
      if (found.length === 0) return;
      expectThat(answer, usersLeft > 1, "of one user at least, the profile is 5 m off the fuzzed check-in");
    }
  });
});
