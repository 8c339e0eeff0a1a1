import { group } from "../check.ts";
import type { Answer } from "../client.ts";
import { further, missing, specified } from "../errors.ts";
import { expectDate, expectEqual, expectError, expectExactly, expectResult, expectThat } from "../expect.ts";
import { addIdentity, findIdentity } from "../identity-calls.ts";
import { checkIn, idsOf, search } from "../listing.ts";
import { logIn, otherUser, sharedUser, signUp, type TestUser, uniqueName, type World } from "../world.ts";

const newPassword = "another horse";

async function me(world: World, token: string) {
  return world.call("GET /users/me", { token });
}

async function listTokens(world: World, token: string): Promise<Answer> {
  return world.call("GET /users/me/tokens", { token });
}

async function endToken(world: World, token: string, id: string) {
  return world.call(`DELETE /users/me/tokens/${id}`, { token });
}

async function change(world: World, token: string, body: object) {
  return world.call("PATCH /users/me", { token, body });
}

async function logInWith(world: World, { userName, deviceToken }: TestUser, password: string) {
  return world.call("POST /users/login", { token: deviceToken, body: { username: userName, password } });
}

/** A user's tokens, password and deletion (spec/users#list-and-end-tokens). */
export const accounts = group("accounts", (it) => {
  it("spec/users#list-and-end-tokens · GET /users/me/tokens: lists the live tokens, newest first, and marks the current one", async (world) => {
    const user = await signUp(world);
    const second = await logIn(world, user);
    const answer = await listTokens(world, user.token);
    const { pageResults, currentToken } = expectResult(answer);
    expectEqual(answer, "type of currentToken", typeof currentToken, "string");
    const current = pageResults.map((token: Answer["body"]) => token.current);
    expectEqual(answer, "current", current, [false, true]);
    for (const { id, deviceID, platform, created, lastUsed, expires, ...others } of pageResults) {
      const device = expectResult(await world.call("GET /devices/current", { token: second }));
      expectEqual(answer, "device", { deviceID, platform }, { deviceID: device.id, platform: "verify" });
      const [made, used, ends] = [created, lastUsed, expires].map((time) => expectDate(answer, "times", time));
      const isInOrder = Number(made) <= Number(used) && Number(used) < Number(ends);
      expectThat(answer, typeof id === "string" && isInOrder, "an id; created, lastUsed and expires in this order");
      expectEqual(answer, "other fields", Object.keys(others), ["current"]);
    }
    for (const secret of [user.token, second]) expectThat(answer, !answer.text.includes(secret), "no token itself");
  });
  it("spec/users#list-and-end-tokens · DELETE /users/me/tokens/{id}: true; that token is refused, the user's other tokens and the device's stay valid", async (world) => {
    const user = await signUp(world);
    const second = await logIn(world, user);
    const [ended] = idsOf(await listTokens(world, user.token));
    const answer = await endToken(world, user.token, ended ?? "");
    expectExactly(answer, true);
    expectError(await me(world, second), specified.tokenInvalid);
    expectResult(await me(world, user.token));
    expectEqual(answer, "live tokens", idsOf(await listTokens(world, user.token)).length, 1);
    expectError(await endToken(world, user.token, ended ?? ""), further.itemDoesNotExist);
    expectResult(await me(world, await logIn(world, user)));
  });
  it("spec/users#list-and-end-tokens · DELETE /users/me/tokens/{id}: works for the current token", async (world) => {
    const { token } = await signUp(world);
    const [own] = idsOf(await listTokens(world, token));
    expectExactly(await endToken(world, token, own ?? ""), true);
    expectError(await me(world, token), specified.tokenInvalid);
  });
  it("hostile.md 13 · DELETE /users/me/tokens/{id}: another user's token does not exist, and text that is not an id is malformed", async (world) => {
    const [user, other] = [await sharedUser(world), await otherUser(world)];
    const [id = ""] = idsOf(await listTokens(world, user.token));
    expectError(await endToken(world, other.token, id), further.itemDoesNotExist);
    for (const wrong of ["nothing", `${id}x`]) {
      expectError(await endToken(world, other.token, wrong), further.incorrectFormat);
    }
    expectError(await endToken(world, other.token, other.id), {
      ...further.outOfRange,
      message: /^Incorrect id type, expected \w+\.$/,
    });
    expectResult(await me(world, user.token));
  });
  it("spec/users#list-and-end-tokens · After logout the token is not listed", async (world) => {
    const user = await signUp(world);
    const second = await logIn(world, user);
    expectResult(await world.call("POST /users/me/logout", { token: second }));
    const answer = await listTokens(world, user.token);
    expectEqual(answer, "number of tokens", idsOf(answer).length, 1);
  });
  it("spec/users#change-the-password · PATCH /users/me: the new password logs in, the old one does not; the user's other tokens are revoked", async (world) => {
    const user = await signUp(world);
    const second = await logIn(world, user);
    const sent = { password: newPassword, currentPassword: user.password };
    const answer = await change(world, user.token, sent);
    expectEqual(answer, "result.id", expectResult(answer).id, user.id);
    expectThat(answer, !answer.text.includes(newPassword), "no password");
    expectResult(await me(world, user.token));
    expectError(await me(world, second), specified.tokenInvalid);
    expectError(await logInWith(world, user, user.password), specified.badUserNameOrPassword);
    expectResult(await logInWith(world, user, newPassword));
  });
  for (const [what, sent, row] of [
    ["without currentPassword", {}, missing("currentPassword")],
    ["with null as currentPassword", { currentPassword: null }, missing("currentPassword")],
    ["with a wrong currentPassword", { currentPassword: "wrong horse" }, specified.badUserNameOrPassword],
    ["with an empty currentPassword", { currentPassword: "" }, specified.badUserNameOrPassword],
  ] as const)
    it(`spec/users#change-the-password · PATCH /users/me: a new password ${what}: ${row.status} ${row.error}`, async (world) => {
      const user = await signUp(world);
      const second = await logIn(world, user);
      expectError(await change(world, user.token, { password: newPassword, tag: "lost", ...sent }), row);
      const answer = await me(world, second);
      expectThat(answer, !("tag" in expectResult(answer)), "nothing of a refused change");
      expectResult(await logInWith(world, user, user.password));
    });
  it("spec/users#change-the-password · Limits: PATCH /users/me: 400 ParameterOutOfRange for a new password shorter than 4", async (world) => {
    const user = await signUp(world);
    for (const password of ["abc", ""]) {
      const answer = await change(world, user.token, { password, currentPassword: user.password });
      expectError(answer, specified.passwordTooShort);
    }
  });
  for (const by of ["me", "the id"])
    it(`spec/users#delete-a-user · States: DELETE /users by ${by}: true; every token of the user is refused at once`, async (world) => {
      const user = await signUp(world);
      const second = await logIn(world, user);
      const path = by === "me" ? "/users/me" : `/users/${user.id}`;
      expectExactly(await world.call(`DELETE ${path}`, { token: user.token }), true);
      for (const token of [user.token, second]) expectError(await me(world, token), specified.tokenInvalid);
      expectError(await logInWith(world, user, user.password), specified.badUserNameOrPassword);
    });
  it("spec/users#delete-a-user · DELETE /users/me: erases what the user owned; the name and the identities become free", async (world) => {
    const user = await signUp(world);
    const { token } = await otherUser(world);
    const checkinId = await checkIn(world, user.token, { readPermissions: "App", tag: user.id });
    const identityId = uniqueName();
    expectResult(await addIdentity(world, user, "verify", identityId));
    expectResult(await world.call("DELETE /users/me", { token: user.token }));
    expectError(await world.call(`GET /checkins/${checkinId}`, { token }), further.itemDoesNotExist);
    expectError(await world.call(`GET /users/${user.id}`, { token }), further.itemDoesNotExist);
    expectError(await findIdentity(world, await otherUser(world), "verify", identityId), further.itemDoesNotExist);
    for (const query of [{ tag: user.id }, { userID: user.id }]) {
      const found = await search(world, token, query);
      expectEqual(found, "check-ins", idsOf(found), []);
    }
    const found = await world.call("GET /users", { token, query: { userName: user.userName } });
    expectEqual(found, "users", idsOf(found), []);
    const body = { username: user.userName, password: user.password };
    const again = expectResult(await world.call("POST /users", { token: user.deviceToken, body }));
    expectThat(found, again.id !== user.id, "a separate user");
    expectResult(await addIdentity(world, { ...user, token: again.accessToken }, "verify", identityId));
  });
});
