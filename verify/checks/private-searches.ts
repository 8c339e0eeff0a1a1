import { group } from "../check.ts";
import { expectEqual, expectResult, expectThat } from "../expect.ts";
import { fuzzedUser, places, seen, signUpFuzzed, vienna } from "../fuzzed.ts";
import { format, metersBetween, moved, type Point } from "../globe.ts";
import { checkIn, idsOf, search } from "../listing.ts";
import { changeUser, otherUser } from "../world.ts";

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
    expectEqual(
      answer,
      "distances",
      meters,
      meters.toSorted((a, b) => a - b),
    );
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
