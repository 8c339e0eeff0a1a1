import { group } from "../check.ts";
import { further } from "../errors.ts";
import { expectEqual, expectError, expectExactly, expectResult, expectSameAnswer } from "../expect.ts";
import { checkIn, forAll, idsOf, makeCheckin, page } from "../listing.ts";
import { otherUser, sharedUser, type World } from "../world.ts";

/** Permissions of a check-in, and the access that they give other users. */
const permissions = [
  { given: {}, mayRead: false, mayWrite: false },
  { given: { readPermissions: "User", writePermissions: "User" }, mayRead: false, mayWrite: false },
  { given: { readPermissions: "App" }, mayRead: true, mayWrite: false },
  { given: { readPermissions: "app", writePermissions: "user" }, mayRead: true, mayWrite: false },
  { given: { readPermissions: "App", writePermissions: "App" }, mayRead: true, mayWrite: true },
] as const;
const calls = ["GET", "PATCH", "DELETE"] as const;

async function callAsOther(world: World, verb: (typeof calls)[number], id: string, body?: unknown) {
  return world.call(`${verb} /checkins/${id}`, { by: otherUser, body });
}

async function changeAsOwner(world: World, id: string, body: unknown) {
  return world.call(`PATCH /checkins/${id}`, { by: sharedUser, body });
}

/** Permissions to read, change and delete a check-in (spec/search#permissions). */
export const checkinPermissions = group("check-in-permissions", (it) => {
  for (const { given, mayRead, mayWrite } of permissions)
    it(`spec/search#permissions · Access of other users to a check-in with ${JSON.stringify(given)}`, async (world) => {
      const owner = await sharedUser(world);
      const made = await makeCheckin(world, owner.token, given);
      const read = await callAsOther(world, "GET", made.id);
      if (mayRead) expectExactly(read, made);
      else expectError(read, further.itemDoesNotExist);
      const changed = await callAsOther(world, "PATCH", made.id, { comment: "by another" });
      if (mayWrite) expectEqual(changed, "result.comment", expectResult(changed).comment, "by another");
      else expectError(changed, mayRead ? further.permissionDenied : further.itemDoesNotExist);
      const removed = await callAsOther(world, "DELETE", made.id);
      expectError(removed, mayRead ? further.permissionDenied : further.itemDoesNotExist);
      const answer = await world.call(`GET /checkins/${made.id}`, { token: owner.token });
      const { lastModified: _, ...now } = expectResult(answer);
      const { lastModified: __, ...expected } = { ...made, ...(mayWrite && { comment: "by another" }) };
      expectEqual(answer, "result", now, expected);
    });
  for (const verb of calls)
    it(`hostile.md 13 · ${verb} /checkins/{checkinId}: a private check-in of another user and an unknown one give byte-identical answers`, async (world) => {
      const { token } = await sharedUser(world);
      const [hidden, gone] = [await checkIn(world, token), await checkIn(world, token)];
      expectResult(await world.call(`DELETE /checkins/${gone}`, { token }));
      const answer = await callAsOther(world, verb, hidden);
      expectError(answer, further.itemDoesNotExist);
      expectSameAnswer(answer, await callAsOther(world, verb, gone));
      expectResult(await world.call(`GET /checkins/${hidden}`, { token }));
    });
  for (const sent of [
    { readPermissions: "User" },
    { writePermissions: "User" },
    { readPermissions: "User", writePermissions: "User" },
  ])
    it(`spec/search#changes-by-others · Only the owner changes permissions: ${JSON.stringify(sent)} by another user`, async (world) => {
      const { token } = await sharedUser(world);
      const made = await makeCheckin(world, token, forAll);
      expectError(await callAsOther(world, "PATCH", made.id, { comment: "lost", ...sent }), further.permissionDenied);
      expectExactly(await callAsOther(world, "GET", made.id), made);
    });
  it("spec/search#changes-by-others · A check-in that another user changed still belongs to its owner", async (world) => {
    const owner = await sharedUser(world);
    const made = await makeCheckin(world, owner.token, forAll);
    const sent = { ...made, location: "3,4", description: "by another", userID: "me", id: "x" };
    const answer = await callAsOther(world, "PATCH", made.id, sent);
    const { lastModified: _, ...changed } = expectResult(answer);
    const { lastModified: __, ...expected } = made;
    const location = { lat: 3, lng: 4 };
    expectEqual(answer, "result", changed, { ...expected, location, description: "by another" });
    const { token } = await otherUser(world);
    const own = await page(world, token, { tag: "verify" });
    expectEqual(own, "the other's own check-ins among it", idsOf(own).includes(made.id), false);
  });
  it("spec/search#permissions · 400 ParameterOutOfRange for write App without read App: POST and PATCH", async (world) => {
    const { token } = await sharedUser(world);
    const without = [{ writePermissions: "App" }, { writePermissions: "App", readPermissions: "User" }];
    const id = await checkIn(world, token);
    for (const sent of without) {
      const created = await world.call("POST /checkins", { token, body: { location: "1,2", ...sent } });
      expectError(created, further.outOfRange);
      expectError(await changeAsOwner(world, id, sent), further.outOfRange);
    }
    const shared = await checkIn(world, token, forAll);
    expectError(await changeAsOwner(world, shared, { readPermissions: "User" }), further.outOfRange);
    expectResult(await callAsOther(world, "GET", shared));
  });
  it("spec/search#permissions · Sharing and unsharing take effect from the next request on, for reading and searching", async (world) => {
    const { id: userID, token } = await sharedUser(world);
    const other = await otherUser(world);
    const { id, tag } = await makeCheckin(world, token, { tag: `verify ${Math.random()}` });
    for (const audience of ["User", "App", "User", "App"]) {
      expectResult(await changeAsOwner(world, id, { readPermissions: audience, writePermissions: "User" }));
      const read = await callAsOther(world, "GET", id);
      if (audience === "App") expectResult(read);
      else expectError(read, further.itemDoesNotExist);
      for (const query of [{ tag }, { tag, userID }]) {
        const found = await world.call("GET /checkins", { token: other.token, query });
        expectEqual(found, "check-ins", idsOf(found), audience === "App" ? [id] : []);
      }
    }
  });
});
