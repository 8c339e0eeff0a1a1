import { group } from "../check.ts";
import { missing, specified } from "../errors.ts";
import { expectDate, expectEqual, expectError, expectResult, expectSameAnswer, expectThat } from "../expect.ts";
import { registerDevice, sharedDevice, signUp, uniqueName, type World } from "../world.ts";

async function login(world: World, body: Readonly<Record<string, unknown>>) {
  return world.call("POST /users/login", { token: await sharedDevice(world), body });
}

/** Login (spec/users#log-in). */
export const loginGroup = group("login", (it) => {
  it("spec/users#log-in · POST /users/login: returns the user's fields with a user token and its expiry", async (world) => {
    const user = await signUp(world);
    const me = await world.call("GET /users/me", { token: user.token });
    const answer = await login(world, { username: user.userName, password: user.password });
    const { accessToken, accessTokenExpires, lastLogin, lastModified, ...fields } = expectResult(answer);
    const { lastLogin: _, lastModified: __, ...expected } = expectResult(me);
    expectEqual(answer, "the user's fields", fields, expected);
    for (const time of [accessTokenExpires, lastLogin, lastModified]) expectDate(answer, "times", time);
    const again = await world.call("GET /users/me", { token: accessToken });
    expectEqual(again, "result.id", expectResult(again).id, user.id);
  });
  it("spec/users#log-in · POST /users/login: works on a device other than the one that created the user", async (world) => {
    const { userName, password } = await signUp(world);
    const token = await registerDevice(world);
    expectResult(await world.call("POST /users/login", { token, body: { username: userName, password } }));
  });
  it("spec/users#log-in · POST /users/login: 403 AuthBadUsernameOrPassword, identical for an unknown user and a wrong password", async (world) => {
    const { userName } = await signUp(world);
    const unknown = await login(world, { username: uniqueName(), password: "correct horse" });
    const wrong = await login(world, { username: userName, password: "wrong horse" });
    expectError(unknown, specified.badUserNameOrPassword);
    expectError(wrong, specified.badUserNameOrPassword);
    expectSameAnswer(wrong, unknown);
  });
  for (const [what, change] of [
    ["in another case", (password: string) => password.toUpperCase()],
    ["cut short", (password: string) => password.slice(0, -1)],
    ["with a blank behind", (password: string) => `${password} `],
    ["with NUL behind", (password: string) => `${password}\0`],
    ["that is empty", () => ""],
    ["shorter than 4", () => "abc"],
    ["of %", () => "%"],
    ["of 10,000 characters", () => "x".repeat(10_000)],
  ] as const)
    it(`spec/users#log-in · POST /users/login: 403 AuthBadUsernameOrPassword for a password ${what}`, async (world) => {
      const { userName, password } = await signUp(world);
      const answer = await login(world, { username: userName, password: change(password) });
      expectError(answer, specified.badUserNameOrPassword);
    });
  it("spec/users#log-in · POST /users/login: 403 AuthBadUsernameOrPassword for a username of 10,000 characters", async (world) => {
    const answer = await login(world, { username: "x".repeat(10_000), password: "correct horse" });
    expectError(answer, specified.badUserNameOrPassword);
  });
  for (const name of ["username", "password"])
    it(`spec/users#log-in · POST /users/login: ${name} is required: 400 ParameterMissingRequiredValue`, async (world) => {
      const body = { username: uniqueName(), password: "correct horse" };
      expectError(await login(world, { ...body, [name]: undefined }), missing(name));
      expectError(await login(world, { ...body, [name]: null }), missing(name));
    });
  it("spec/users#log-in · POST /users/login: does not create a user", async (world) => {
    const body = { username: uniqueName(), password: "correct horse" };
    expectError(await login(world, body), specified.badUserNameOrPassword);
    expectError(await login(world, body), specified.badUserNameOrPassword);
    expectResult(await world.call("POST /users", { token: await sharedDevice(world), body }));
  });
  it("spec/users#user-names · POST /users/login: the username is matched regardless of case", async (world) => {
    const { id, userName, password } = await signUp(world);
    const answer = await login(world, { username: userName.toUpperCase(), password });
    expectEqual(answer, "result.id", expectResult(answer).id, id);
  });
  for (const pattern of ["%", "_", "*", "' OR '1'='1", "\\", '" OR ""="'])
    it(`hostile.md 20 · POST /users/login: ${pattern} in a username is literal`, async (world) => {
      const { userName, password } = await signUp(world);
      const answer = await login(world, { username: userName.slice(0, -1) + pattern, password });
      expectError(answer, specified.badUserNameOrPassword);
    });
  it("spec/users#log-in · POST /users/login: each login returns a new token", async (world) => {
    const { userName, password } = await signUp(world);
    const first = expectResult(await login(world, { username: userName, password }));
    const answer = await login(world, { username: userName, password });
    expectThat(answer, expectResult(answer).accessToken !== first.accessToken, "another token");
  });
});
