import { group } from "../check.ts";
import { further, specified } from "../errors.ts";
import { expectDate, expectEqual, expectError, expectExactly, expectResult, expectThat } from "../expect.ts";
import { sharedDevice, sharedUser, signUp, uniqueName, type World } from "../world.ts";

const password = "correct horse";
const profile = { email: "ada@example.com", firstName: "Ada", lastName: "Lovelace" };

async function create(world: World, fields: Readonly<Record<string, unknown>>) {
  return world.call("POST /users", { token: await sharedDevice(world), body: fields });
}

/** Pairs of equal names (spec/users#user-names). */
const sameNames: readonly [what: string, first: (name: string) => string, second: (name: string) => string][] = [
  ["case", (name) => `${name}-ada`, (name) => `${name}-ADA`.toUpperCase()],
  ["case beyond ASCII", (name) => `${name}-\u00e4\u0431`, (name) => `${name}-\u00c4\u0411`],
  ["Unicode form", (name) => `${name}-\u00e9`, (name) => `${name}-e\u0301`],
  ["case and Unicode form", (name) => `${name}-\u00e9`, (name) => `${name}-E\u0301`],
];

/** Sign-up and the caller's own profile (spec/users#sign-up). */
export const users = group("users", (it) => {
  it("spec/users#sign-up · POST /users: 200 with the User and its token", async (world) => {
    const username = uniqueName();
    const answer = await create(world, { username, password, ...profile });
    const result = expectResult(answer, 200);
    const { id, accessToken, accessTokenExpires, lastLogin, created, lastModified, ...others } = result;
    const expected = { userName: username, ...profile, celebMode: false, locationFuzzing: false };
    expectEqual(answer, "the other fields", others, expected);
    for (const text of [id, accessToken]) expectThat(answer, typeof text === "string" && text !== "", "id and token");
    for (const time of [lastLogin, created, lastModified]) expectDate(answer, "times", time);
    const expires = expectDate(answer, "accessTokenExpires", accessTokenExpires);
    expectThat(answer, expires > Date.now(), "an expiry in the future");
  });
  it("spec/users#sign-up · POST /users: the returned token is a user token", async (world) => {
    const created = await create(world, { username: uniqueName(), password });
    const { id, accessToken } = expectResult(created);
    const answer = await world.call("GET /users/me", { token: accessToken });
    expectEqual(answer, "result.id", expectResult(answer).id, id);
  });
  it("spec/search#common-fields · POST /users: with only username and password, all other fields are absent", async (world) => {
    const answer = await create(world, { username: uniqueName(), password });
    const result = expectResult(answer);
    const unset = ["email", "firstName", "lastName", "gender", "dateOfBirth", "tag", "location"];
    const found = unset.filter((name) => name in result);
    expectEqual(answer, "fields that were not set", found, []);
  });
  it("spec/users#user-fields · User: celebMode and locationFuzzing are false at creation, also when sent as true", async (world) => {
    const modes = { celebMode: true, locationFuzzing: true };
    const answer = await create(world, { username: uniqueName(), password, ...modes });
    const { celebMode, locationFuzzing } = expectResult(answer);
    expectEqual(answer, "modes", { celebMode, locationFuzzing }, { celebMode: false, locationFuzzing: false });
  });
  it("spec/users#sign-up · POST /users and GET /users/me: the password does not appear in the answer", async (world) => {
    const secret = uniqueName("secret");
    const created = await create(world, { username: uniqueName(), password: secret });
    const me = await world.call("GET /users/me", { token: expectResult(created).accessToken });
    for (const answer of [created, me]) {
      expectThat(answer, !answer.text.includes(secret) && !/passw|hash/i.test(answer.text), "no trace of a password");
    }
  });
  it("spec/users#user-names · POST /users: 400 ItemAlreadyExists 770 for a duplicate username, also with only username and password", async (world) => {
    const { userName } = await sharedUser(world);
    expectError(await create(world, { username: userName, password, ...profile }), specified.userNameTaken);
    expectError(await create(world, { username: userName, password }), specified.userNameTaken);
  });
  it("spec/users#user-names · POST /users: 400 ItemAlreadyExists for a duplicate username, even with its correct password", async (world) => {
    const user = await sharedUser(world);
    expectError(await create(world, { username: user.userName, password: user.password }), specified.userNameTaken);
  });
  for (const [what, first, second] of sameNames)
    it(`spec/users#user-names · POST /users: 400 ItemAlreadyExists for a username that differs in ${what}`, async (world) => {
      const name = uniqueName();
      const answer = await create(world, { username: first(name), password });
      expectEqual(answer, "result.userName", expectResult(answer).userName, first(name));
      expectError(await create(world, { username: second(name), password }), specified.userNameTaken);
      const login = { username: second(name), password };
      const loggedIn = await world.call("POST /users/login", { by: sharedDevice, body: login });
      expectEqual(loggedIn, "result.userName", expectResult(loggedIn).userName, first(name));
    });
  for (const short of ["", "a", "abc", "\u{1f642}\u{1f642}\u{1f642}"])
    it(`spec/users#user-lengths · POST /users: 400 ParameterOutOfRange for the password "${short}", shorter than 4`, async (world) => {
      expectError(await create(world, { username: uniqueName(), password: short }), specified.passwordTooShort);
    });
  for (const long of ["abcd", "1234", "    ", "p\u00e4\u00df\u{1f642}", "%'\"\\", "x".repeat(200)])
    it(`spec/users#user-lengths · Limits: a password of 4 or more characters is accepted: "${long.slice(0, 20)}"`, async (world) => {
      const username = uniqueName();
      expectResult(await create(world, { username, password: long }));
      const login = { token: await sharedDevice(world), body: { username, password: long } };
      expectResult(await world.call("POST /users/login", login));
    });
  it("spec/users#sign-up · POST /users: a refused sign-up leaves the username free", async (world) => {
    const username = uniqueName();
    expectError(await create(world, { username, password: "abc" }), specified.passwordTooShort);
    expectResult(await create(world, { username, password }));
  });
  it("hostile.md 4 · POST /users: of a hundred concurrent sign-ups with one username one succeeds, the others get ItemAlreadyExists", async (world) => {
    const body = { username: uniqueName(), password };
    const answers = await Promise.all(Array.from({ length: 100 }, () => create(world, body)));
    const [winner, ...others] = answers.toSorted((a, b) => a.status - b.status);
    if (winner !== undefined) expectResult(winner);
    for (const answer of others) expectError(answer, specified.userNameTaken);
  });
  it("spec/users#read-a-profile · GET /users/me: returns the user without tokens", async (world) => {
    const username = uniqueName();
    const created = await create(world, { username, password, ...profile });
    const { accessToken, accessTokenExpires, ...user } = expectResult(created);
    expectExactly(await world.call("GET /users/me", { token: accessToken }), user);
  });
  it("spec/transport#scalars · POST /users: 400 ParameterIncorrectFormat for an object in any field, named in the message", async (world) => {
    for (const name of ["username", "password", "email", "firstName", "lastName"]) {
      const answer = await create(world, { username: uniqueName(), password, [name]: { a: 1 } });
      expectError(answer, { ...further.incorrectFormat, message: new RegExp(name) });
    }
  });
  it("spec/transport#ids · User: ids differ between users", async (world) => {
    const answer = await create(world, { username: uniqueName(), password });
    const { id } = await signUp(world);
    expectThat(answer, expectResult(answer).id !== id, "another id");
  });
});
