import { group } from "../check.ts";
import { specified } from "../errors.ts";
import { expectDate, expectEqual, expectError, expectResult, expectThat, isObject } from "../expect.ts";
import { prepare, tokenOperations } from "../operations.ts";
import { logIn, shared, signUp, uniqueName, type World } from "../world.ts";

/** A user token after its logout. */
async function loggedOut(world: World) {
  const user = await signUp(world);
  expectResult(await world.call("POST /users/me/logout", { token: user.token, body: {} }));
  return user;
}

/** The same one for every check. */
const sharedLoggedOut = shared(loggedOut);

/** Logout and its revocations (spec/authentication#revocation). */
export const logout = group("logout", (it) => {
  for (const [what, body] of [
    ["an empty object", {}],
    ["no body", undefined],
    ["an empty body", ""],
    ["unknown parameters", { foo: 1 }],
  ] as const)
    it(`spec/users#log-out · POST /users/me/logout with ${what}: an object with a fresh device token`, async (world) => {
      const { token } = await signUp(world);
      const answer = await world.call("POST /users/me/logout", { token, body });
      const result = expectResult(answer);
      expectThat(answer, isObject(result), "an object as result");
      expectDate(answer, "accessTokenExpires", result.accessTokenExpires);
      const login = { username: uniqueName(), password: "correct horse" };
      expectResult(await world.call("POST /users", { token: result.accessToken, body: login }));
      expectError(await world.call("GET /users/me", { token: result.accessToken }), specified.userTokenRequired);
    });
  for (const name of tokenOperations)
    it(`spec/authentication#revocation · States: after logout the token is refused with AuthAccessTokenInvalid: ${name}`, async (world) => {
      const { token } = await sharedLoggedOut(world);
      const { operation, body } = await prepare(world, name);
      expectError(await world.call(operation, { token, body }), specified.tokenInvalid);
    });
  it("hostile.md 2 · A token is refused on the first requests after logout, even when it was in use just before", async (world) => {
    const { token } = await signUp(world);
    await Promise.all(Array.from({ length: 20 }, () => world.call("GET /users/me", { token })));
    expectResult(await world.call("POST /users/me/logout", { token, body: {} }));
    const answers = await Promise.all(Array.from({ length: 20 }, () => world.call("GET /users/me", { token })));
    for (const answer of answers) expectError(answer, specified.tokenInvalid);
  });
  it("spec/users#log-out · POST /users/me/logout: revokes the current user token, and no other of the user's tokens", async (world) => {
    const user = await signUp(world);
    const second = await logIn(world, user);
    expectResult(await world.call("POST /users/me/logout", { token: second, body: {} }));
    expectError(await world.call("GET /users/me", { token: second }), specified.tokenInvalid);
    expectResult(await world.call("GET /users/me", { token: user.token }));
  });
  it("spec/users#log-out · POST /users/me/logout: the device token stays valid, and login returns a new user token", async (world) => {
    const user = await loggedOut(world);
    const token = await logIn(world, user);
    const answer = await world.call("GET /users/me", { token });
    expectEqual(answer, "result.id", expectResult(answer).id, user.id);
  });
});
