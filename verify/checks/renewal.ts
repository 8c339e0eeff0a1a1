import { group } from "../check.ts";
import { specified } from "../errors.ts";
import { expectDate, expectEqual, expectError, expectResult, expectThat, isObject } from "../expect.ts";
import { signUp, type World } from "../world.ts";

async function renew(world: World, token: string): Promise<string> {
  const answer = await world.call("POST /users/me/tokens", { token });
  const result = expectResult(answer, 201);
  expectThat(answer, isObject(result), "an object as result");
  expectDate(answer, "accessTokenExpires", result.accessTokenExpires);
  expectEqual(answer, "members", Object.keys(result).sort(), ["accessToken", "accessTokenExpires"]);
  expectEqual(answer, "type of accessToken", typeof result.accessToken, "string");
  return `${result.accessToken}`;
}

/** Renewal of user tokens (spec/authentication#renewal). */
export const renewal = group("renewal", (it) => {
  it("spec/authentication#renewal · POST /users/me/tokens: a successor, and the token stays valid beside it", async (world) => {
    const { token } = await signUp(world);
    const successor = await renew(world, token);
    for (const each of [token, successor, token]) expectResult(await world.call("GET /users/me", { token: each }));
  });
  it("spec/authentication#renewal · ten renewals of a token at once and one later leave one session", async (world) => {
    const { token } = await signUp(world);
    const successors = await Promise.all(Array.from({ length: 10 }, () => renew(world, token)));
    for (const each of [token, ...successors, await renew(world, token)]) {
      const answer = await world.call("GET /users/me/tokens", { token: each });
      const { pageResults } = expectResult(answer);
      expectEqual(answer, "number of sessions", pageResults.length, 1);
      expectEqual(answer, "current", pageResults[0].current, true);
    }
  });
  it("spec/authentication#renewal · a session ends as a whole at logout with any of its tokens", async (world) => {
    for (const isOlderUsed of [true, false]) {
      const { token } = await signUp(world);
      const successor = await renew(world, token);
      expectResult(await world.call("POST /users/me/logout", { token: isOlderUsed ? token : successor }));
      for (const each of [token, successor]) {
        expectError(await world.call("GET /users/me", { token: each }), specified.tokenInvalid);
        expectError(await world.call("POST /users/me/tokens", { token: each }), specified.tokenInvalid);
      }
    }
  });
  it("spec/authentication#renewal · a password change spares the session that it was made with", async (world) => {
    const { token, password } = await signUp(world);
    const successor = await renew(world, token);
    const body = { currentPassword: password, password: "another horse" };
    expectResult(await world.call("PATCH /users/me", { token, body }));
    for (const each of [token, successor]) expectResult(await world.call("GET /users/me", { token: each }));
  });
});
