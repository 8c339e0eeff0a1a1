import { group } from "../check.ts";
import { further } from "../errors.ts";
import { expectEqual, expectError, expectExactly, expectResult, expectSameAnswer } from "../expect.ts";
import { checkIn, idsOf, search } from "../listing.ts";
import { changeUser, otherUser, sharedUser, signUp, signUpWith } from "../world.ts";

const names = { firstName: "Ada", lastName: "Lovelace" };
const profile = {
  ...names,
  email: "ada@example.com",
  gender: "Female",
  dateOfBirth: "1815-12-10",
  tag: "verify",
  location: "48.2082,16.3738",
};

/** Access to the profiles of other users (spec/users#read-a-profile). */
export const otherProfiles = group("other-profiles", (it) => {
  it("spec/users#read-a-profile · GET /users/{userId}: others see names and created only", async (world) => {
    const user = await signUpWith(world, profile);
    const { created } = expectResult(await world.call("GET /users/me", { token: user.token }));
    const answer = await world.call(`GET /users/${user.id}`, { by: otherUser });
    expectExactly(answer, { id: user.id, userName: user.userName, ...names, created });
  });
  it("spec/users#profiles-of-others · PATCH and DELETE /users/{userId}: allowed for the caller's own id; 403 ObjectPermissionDenied for another user", async (world) => {
    const user = await signUpWith(world, profile);
    const { token } = await otherUser(world);
    const path = `/users/${user.id}`;
    expectError(await world.call(`PATCH ${path}`, { token, body: { tag: "x" } }), further.permissionDenied);
    expectError(await world.call(`DELETE ${path}`, { token }), further.permissionDenied);
    const answer = await world.call(`PATCH ${path}`, { token: user.token, body: { tag: "x" } });
    expectEqual(answer, "result.tag", expectResult(answer).tag, "x");
  });
  it("spec/users#celebmode · celebMode: others get ItemDoesNotExist, as for an unknown user; shared check-ins stay visible", async (world) => {
    const [user, gone] = [await signUp(world), await signUp(world)];
    expectResult(await world.call("DELETE /users/me", { token: gone.token }));
    const checkinId = await checkIn(world, user.token, { readPermissions: "App" });
    const { token } = await otherUser(world);
    await changeUser(world, user, { celebMode: true });
    for (const verb of ["GET", "PATCH", "DELETE"]) {
      const answer = await world.call(`${verb} /users/${user.id}`, { token });
      expectError(answer, further.itemDoesNotExist);
      expectSameAnswer(answer, await world.call(`${verb} /users/${gone.id}`, { token }));
    }
    const shown = await world.call(`GET /checkins/${checkinId}`, { token });
    expectEqual(shown, "result.userID", expectResult(shown).userID, user.id);
    const found = await search(world, token, { userID: user.id });
    expectEqual(found, "shared check-ins", idsOf(found), [checkinId]);
    expectResult(await world.call(`GET /users/${user.id}`, { token: user.token }));
    await changeUser(world, user, { celebMode: false });
    expectResult(await world.call(`GET /users/${user.id}`, { token }));
  });
  for (const verb of ["GET", "PATCH", "DELETE"])
    it(`spec/transport#ids · Ids: ${verb} /users/{userId} with an invalid id, or one of another kind`, async (world) => {
      const { token, id } = await sharedUser(world);
      for (const wrong of ["nothing", "you", `${id}x`, id.slice(0, -1)]) {
        expectError(await world.call(`${verb} /users/${wrong}`, { token }), further.incorrectFormat);
      }
      const checkinId = await checkIn(world, token);
      expectError(await world.call(`${verb} /users/${checkinId}`, { token }), further.userIdWrongKind);
    });
});
