import { group, Skip } from "../check.ts";
import { further, specified } from "../errors.ts";
import { expectError, expectExactly, expectResult, expectSameAnswer, expectThat } from "../expect.ts";
import { type Application, registerDevice, signUp, type TestUser, uniqueName, type World } from "../world.ts";

/** A user in each of two applications. @throws Skip when only one application is given */
async function twoTenants(world: World): Promise<{ other: Application; here: TestUser; there: TestUser }> {
  const other = otherOf(world);
  return { other, here: await signUp(world), there: await signUp(world, other) };
}

function otherOf({ otherApplication }: World): Application {
  if (otherApplication === undefined) throw new Skip("needs --other-appid and --other-appkey");
  return otherApplication;
}

/** Isolation between applications (spec/transport#missing-objects, hostile.md 12 to 14). */
export const tenancy = group("tenancy", (it) => {
  it("spec/users#user-names · Limits: a username is unique per application, and free in another", async (world) => {
    const { here, there } = await twoTenants(world);
    const body = { username: here.userName, password: "another horse" };
    const answer = await world.call("POST /users", { token: there.deviceToken, body });
    expectThat(answer, expectResult(answer).id !== here.id, "a separate user");
    expectResult(await world.call("POST /users/login", { token: there.deviceToken, body }));
    const login = await world.call("POST /users/login", { token: here.deviceToken, body });
    expectError(login, specified.badUserNameOrPassword);
  });
  it("spec/users#log-in · POST /users/login: a user of another application is unknown", async (world) => {
    const { here, there } = await twoTenants(world);
    const body = { username: here.userName, password: here.password };
    const answer = await world.call("POST /users/login", { token: there.deviceToken, body });
    expectError(answer, specified.badUserNameOrPassword);
    const unknown = { username: uniqueName(), password: here.password };
    expectSameAnswer(answer, await world.call("POST /users/login", { token: there.deviceToken, body: unknown }));
  });
  it("spec/devices#registration-errors · POST /devices: 401 AuthAppCredentialsInvalid for the key of another application", async (world) => {
    const { appkey } = otherOf(world);
    const body = { appid: world.application.appid, appkey, platform: "verify" };
    expectError(await world.call("POST /devices", { body }), specified.appCredentialsInvalid);
  });
  it("spec/devices#register-again · POST /devices: one uniqueId in two applications gets two tokens", async (world) => {
    const other = otherOf(world);
    const uniqueId = uniqueName();
    for (const application of [world.application, other]) {
      const body = { ...application, platform: "verify", uniqueId };
      const token = expectResult(await world.call("POST /devices", { body }), 201).accessToken;
      expectResult(await world.call("POST /users", { token, body: { username: uniqueId, password: "horse" } }));
    }
  });
  it("hostile.md 12 · A check-in of another application gives the same 404 as an unknown one", async (world) => {
    const { here, there } = await twoTenants(world);
    const created = await world.call("POST /checkins", { token: here.token, body: { location: "1,2" } });
    const { id } = expectResult(created, 201);
    const answer = await world.call(`GET /checkins/${id}`, { token: there.token });
    expectError(answer, further.itemDoesNotExist);
    const colleague = await signUp(world);
    expectSameAnswer(answer, await world.call(`GET /checkins/${id}`, { token: colleague.token }));
    expectResult(await world.call(`GET /checkins/${id}`, { token: here.token }));
  });
  it("spec/search#search-scope · GET /checkins: returns nothing of another application", async (world) => {
    const { here, there } = await twoTenants(world);
    const created = await world.call("POST /checkins", { token: here.token, body: { location: "1,2" } });
    const { id } = expectResult(created, 201);
    const answer = await world.call("GET /checkins", { token: there.token });
    expectThat(answer, Array.isArray(expectResult(answer).pageResults) && !answer.text.includes(id), `no ${id}`);
  });
  it("hostile.md 14 · 400 ParameterIncorrectFormat for a page token of another application", async (world) => {
    const { here, there } = await twoTenants(world);
    for (const comment of ["1", "2"]) {
      const body = { location: "1,2", comment };
      expectResult(await world.call("POST /checkins", { token: here.token, body }), 201);
    }
    const query = { pageSize: "1", userID: "me" };
    const { nextToken } = expectResult(await world.call("GET /checkins", { token: here.token, query }));
    const stolen = { pagingToken: nextToken };
    expectError(await world.call("GET /checkins", { token: there.token, query: stolen }), further.incorrectFormat);
  });
  it("spec/identities#add-an-identity · Identities: a pair that is taken in another application is free and unknown here", async (world) => {
    const { here, there } = await twoTenants(world);
    const path = `/users/me/identities/verify`;
    const identityId = uniqueName();
    expectResult(await world.call(`POST ${path}`, { token: here.token, body: { identityId } }));
    const find = `GET /users/identities/verify/${identityId}`;
    expectError(await world.call(find, { token: there.token }), further.itemDoesNotExist);
    expectResult(await world.call(`POST ${path}`, { token: there.token, body: { identityId } }));
    for (const user of [here, there]) {
      expectExactly(await world.call(find, { token: user.token }), user.id);
    }
  });
  it("spec/authentication#revocation · States: logout in one application revokes nothing in another", async (world) => {
    const { other, here, there } = await twoTenants(world);
    expectResult(await world.call("POST /users/me/logout", { token: here.token, body: {} }));
    expectResult(await world.call("GET /users/me", { token: there.token }));
    await registerDevice(world, other);
  });
});
