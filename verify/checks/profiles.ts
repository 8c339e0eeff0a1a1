import { group } from "../check.ts";
import { further, specified } from "../errors.ts";
import { expectEqual, expectError, expectExactly, expectResult, expectSameAnswer, expectThat } from "../expect.ts";
import { checkIn, idsOf, search } from "../listing.ts";
import {
  changeUser,
  otherUser,
  sharedDevice,
  sharedUser,
  signUp,
  signUpWith,
  type TestUser,
  uniqueName,
  type World,
} from "../world.ts";

const profile: Readonly<Record<string, unknown>> = {
  firstName: "Ada",
  lastName: "Lovelace",
  email: "ada@example.com",
  gender: "Female",
  dateOfBirth: "/Date(-4861900800000)/",
  tag: "verify",
  location: { lat: 48.2082, lng: 16.3738 },
};
const changes: Readonly<Record<string, unknown>> = {
  firstName: "Augusta",
  lastName: "King",
  email: "augusta@example.com",
  gender: "Unknown",
  dateOfBirth: "/Date(0)/",
  tag: "verify 2",
  location: { lat: -33.8688, lng: 151.2093 },
  celebMode: true,
  locationFuzzing: true,
};
/** One value in its other accepted forms. */
const forms = [
  ["gender", [2, "2", "female", "FEMALE"], "Female"],
  ["gender", [0, "unknown"], "Unknown"],
  ["dateOfBirth", ["1981-07-09", "1981/7/9", 363484800000, "Jul 9, 1981 12:00:00 AM"], "/Date(363484800000)/"],
  ["location", ["1,2", "1, 2", { LAT: 1, Lng: "2" }], { lat: 1, lng: 2 }],
  ["celebMode", [true, "TRUE", 1, "1"], true],
  ["locationFuzzing", [false, "False", 0, "0"], false],
  ["tag", [17, "17"], "17"],
] as const;
const refused = [
  ["email", {}, "incorrectFormat"],
  ["firstName", ["Ada"], "incorrectFormat"],
  ["lastName", { a: 1 }, "incorrectFormat"],
  ["gender", 3, "incorrectFormat"],
  ["gender", "X", "incorrectFormat"],
  ["dateOfBirth", "yesterday", "incorrectFormat"],
  ["dateOfBirth", "1981-02-30", "incorrectFormat"],
  ["tag", [], "incorrectFormat"],
  ["location", "here", "incorrectFormat"],
  ["location", "91,0", "outOfRange"],
] as const;

async function change(world: World, { token }: TestUser, body?: unknown) {
  return world.call("PATCH /users/me", { token, body });
}

async function readMe(world: World, { token }: TestUser) {
  return world.call("GET /users/me", { token });
}

/** The caller's own profile (spec/users#profiles). Profiles of others: `other-profiles`, `user-search`. */
export const profiles = group("profiles", (it) => {
  it("spec/users#user-fields · POST /users and PATCH /users/me accept every field of a profile, and GET returns them", async (world) => {
    const created = await signUpWith(world, profile);
    const changed = await signUp(world);
    const answer = await change(world, changed, profile);
    for (const shown of [await readMe(world, created), answer, await readMe(world, changed)]) {
      const fields = Object.entries(expectResult(shown)).filter(([name]) => name in profile);
      expectEqual(shown, "profile", Object.fromEntries(fields), profile);
      expectThat(shown, !("accessToken" in expectResult(shown)), "no token");
    }
  });
  for (const [name, value] of Object.entries(changes))
    it(`spec/users#change-a-profile · PATCH /users/me: 200 with the new ${name}; omitted fields keep their values`, async (world) => {
      const user = await signUpWith(world, profile);
      const { lastModified: _, ...before } = expectResult(await readMe(world, user));
      const answer = await change(world, user, { [name]: value });
      const { lastModified, ...after } = expectResult(answer);
      expectEqual(answer, "result", after, { ...before, [name]: value });
      const again = await world.call(`GET /users/${user.id}`, { token: user.token });
      expectEqual(again, "GET /users/{userId}", expectResult(again), { ...after, lastModified });
    });
  for (const [name, sent, value] of forms)
    it(`spec/transport#scalars · PATCH /users/me: a ${name} of ${JSON.stringify(value)} in every accepted form`, async (world) => {
      const user = await signUp(world);
      for (const form of sent) {
        const answer = await change(world, user, { [name]: form });
        expectEqual(answer, `result.${name} for ${JSON.stringify(form)}`, expectResult(answer)[name], value);
      }
    });
  for (const [name, value, row] of refused)
    it(`spec/users#change-a-profile · A profile with ${JSON.stringify(value)} as ${name}: 400 ${further[row].error}`, async (world) => {
      const expected = { ...further[row], message: new RegExp(name) };
      const body = { username: uniqueName(), password: "correct horse", [name]: value };
      expectError(await world.call("POST /users", { token: await sharedDevice(world), body }), expected);
      expectError(await change(world, await sharedUser(world), { tag: "lost", [name]: value }), expected);
      const me = await readMe(world, await sharedUser(world));
      expectThat(me, !("tag" in expectResult(me)), "nothing of a refused change");
    });
  it("spec/transport#absent-values · PATCH /users/me: the empty text clears a text, null changes nothing", async (world) => {
    const user = await signUpWith(world, profile);
    const texts = (value: unknown) => ({ firstName: value, lastName: value, email: value, tag: value });
    const { lastModified: _, ...before } = expectResult(await readMe(world, user));
    const kept = await change(world, user, { ...texts(null), gender: null, location: null, celebMode: null });
    expectEqual(kept, "result", { ...before, lastModified: "" }, { ...expectResult(kept), lastModified: "" });
    const cleared = await change(world, user, texts(""));
    const left = Object.keys(expectResult(cleared)).filter((name) => name in texts(""));
    expectEqual(cleared, "remaining texts", left, []);
  });
  it("hostile.md 9 · PATCH /users/me: sending the whole object back changes nothing, nor do fields that the service sets", async (world) => {
    const user = await signUpWith(world, profile);
    const { lastModified: _, ...before } = expectResult(await readMe(world, user));
    const own = {
      id: {},
      created: [],
      lastLogin: "x",
      isNew: true,
      accessToken: "x",
      profilePictureID: {},
      roles: 1,
    };
    for (const set of [{}, own, { id: (await otherUser(world)).id, profilePictureUrl: "x" }]) {
      const answer = await change(world, user, { ...before, ...set });
      const { lastModified: __, ...after } = expectResult(answer);
      expectEqual(answer, "result", after, before);
    }
  });
  it("spec/users#change-a-profile · PATCH /users/me: a new userName logs in, and the old one is free; keeping one's name is no error", async (world) => {
    const user = await signUp(world);
    const userName = uniqueName();
    for (const sent of [{ userName: user.userName }, { username: user.userName.toUpperCase() }, { userName }]) {
      const answer = await change(world, user, sent);
      expectEqual(answer, "result.userName", expectResult(answer).userName, Object.values(sent)[0]);
    }
    const logIn = (username: string) =>
      world.call("POST /users/login", { token: user.deviceToken, body: { username, password: user.password } });
    expectResult(await logIn(userName));
    expectError(await logIn(user.userName), specified.badUserNameOrPassword);
    const body = { username: user.userName, password: "correct horse" };
    expectResult(await world.call("POST /users", { token: user.deviceToken, body }));
  });
  it("spec/users#user-names · PATCH /users/me: 400 ItemAlreadyExists for another user's userName, in any case", async (world) => {
    const [user, { userName }] = [await signUp(world), await otherUser(world)];
    for (const username of [userName, userName.toUpperCase()]) {
      expectError(await change(world, user, { username, tag: "lost" }), specified.userNameTaken);
    }
    const me = await readMe(world, user);
    const { userName: kept, tag } = expectResult(me);
    expectEqual(me, "userName and tag", { kept, tag }, { kept: user.userName, tag: undefined });
  });
});

const names = { firstName: "Ada", lastName: "Lovelace" };
const fullProfile = {
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
    const user = await signUpWith(world, fullProfile);
    const { created } = expectResult(await world.call("GET /users/me", { token: user.token }));
    const answer = await world.call(`GET /users/${user.id}`, { by: otherUser });
    expectExactly(answer, { id: user.id, userName: user.userName, ...names, created });
  });
  it("spec/users#profiles-of-others · PATCH and DELETE /users/{userId}: allowed for the caller's own id; 403 ObjectPermissionDenied for another user", async (world) => {
    const user = await signUpWith(world, fullProfile);
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
