import { group } from "../check.ts";
import type { Answer } from "../client.ts";
import { specified } from "../errors.ts";
import { expectEqual, expectError, expectThat } from "../expect.ts";
import { registerDevice, sharedDevice, sharedUser, signUp, uniqueName, type World } from "../world.ts";

/** One call that causes each error. */
const ways = {
  passwordTooShort: async (world: World) => {
    const body = { username: uniqueName(), password: "abc" };
    return world.call("POST /users", { token: await sharedDevice(world), body });
  },
  userNameTaken: async (world: World) => {
    const { userName, deviceToken } = await sharedUser(world);
    return world.call("POST /users", { token: deviceToken, body: { username: userName, password: "correct horse" } });
  },
  userNameUnknown: async (world: World) => {
    const body = { username: uniqueName(), password: "correct horse" };
    return world.call("POST /users/login", { token: await sharedDevice(world), body });
  },
  passwordWrong: async (world: World) => {
    const { userName, deviceToken } = await signUp(world);
    return world.call("POST /users/login", { token: deviceToken, body: { username: userName, password: "wrong" } });
  },
  appIdMalformed: async ({ call, application: { appkey } }: World) =>
    call("POST /devices", { body: { appid: "nothing", appkey, platform: "verify" } }),
  appKeyWrong: async ({ call, application: { appid } }: World) =>
    call("POST /devices", { body: { appid, appkey: "wrong", platform: "verify" } }),
  tokenUnreadable: async ({ call }: World) => call("GET /users/me", { token: "nothing" }),
  tokenAfterLogout: async (world: World) => {
    const { token } = await signUp(world);
    await world.call("POST /users/me/logout", { token, body: {} });
    return world.call("GET /users/me", { token });
  },
  deviceTokenSent: async (world: World) => world.call("GET /users/me", { token: await registerDevice(world) }),
};

/**
 * The error table of spec/errors#specified-errors, row by row: name, number, status, and the message where the table
 * has one.
 */
export const errors = group("errors", (it) => {
  it("spec/errors#error-details · Errors name the parameter at fault, a member inside it by a dot", async (world) => {
    const named = async (answer: Answer, parameter: string) =>
      expectEqual(answer, "parameter", answer.body?.parameter, parameter);
    await named(await ways.passwordTooShort(world), "password");
    await named(await ways.userNameTaken(world), "username");
    const body = { values: { mood: "x".repeat(1_001) } };
    await named(await world.call("POST /metrics/events/verify", { by: sharedUser, body }), "values.mood");
  });
  it("spec/errors#error-details · Refusals of ids name no parameter", async (world) => {
    for (const answer of [await world.call("GET /checkins/x", { by: sharedUser }), await ways.appIdMalformed(world)]) {
      expectEqual(answer, "parameter", answer.body?.parameter, undefined);
    }
  });
  it("spec/errors#specified-errors · Errors: ParameterOutOfRange 514, 400, password shorter than 4, message names parameter and rule", async (world) => {
    expectError(await ways.passwordTooShort(world), specified.passwordTooShort);
  });
  it("spec/errors#specified-errors · Errors: ItemAlreadyExists 770, 400, username in use, message asks for a unique value", async (world) => {
    expectError(await ways.userNameTaken(world), specified.userNameTaken);
  });
  it("spec/errors#specified-errors · Errors: AuthBadUsernameOrPassword 262, 403, user name unknown, no message", async (world) => {
    expectError(await ways.userNameUnknown(world), specified.badUserNameOrPassword);
  });
  it("spec/errors#specified-errors · Errors: AuthBadUsernameOrPassword 262, 403, password wrong, no message", async (world) => {
    expectError(await ways.passwordWrong(world), specified.badUserNameOrPassword);
  });
  it('spec/errors#specified-errors · Errors: ParameterOutOfRange 514, 401, appid malformed, "Incorrect id type, expected App."', async (world) => {
    expectError(await ways.appIdMalformed(world), specified.appIdMalformed);
  });
  it("spec/errors#specified-errors · Errors: AuthAppCredentialsInvalid 261, 401, key wrong, message asks to check the values", async (world) => {
    expectError(await ways.appKeyWrong(world), specified.appCredentialsInvalid);
  });
  it('spec/errors#specified-errors · Errors: AuthAccessTokenInvalid 261, 401, token unreadable, "Incorrect token type."', async (world) => {
    expectError(await ways.tokenUnreadable(world), specified.tokenInvalid);
  });
  it('spec/errors#specified-errors · Errors: AuthAccessTokenInvalid 261, 401, user token after logout, "Incorrect token type."', async (world) => {
    expectError(await ways.tokenAfterLogout(world), specified.tokenInvalid);
  });
  it("spec/errors#specified-errors · Errors: AuthUserAccessTokenRequired 263, 403, device token sent, no message", async (world) => {
    expectError(await ways.deviceTokenSent(world), specified.userTokenRequired);
  });
  it("spec/errors#error-shape · Errors: every failure has success false and a distinct request_id", async (world) => {
    const answers: Answer[] = [];
    for (const way of Object.values(ways)) answers.push(await way(world));
    for (const answer of answers) expectThat(answer, answer.body?.success === false, "success false");
    const ids = answers.map((answer) => answer.body.request_id);
    const [first] = answers;
    if (first !== undefined) expectThat(first, new Set(ids).size === ids.length, `different ids, not ${ids}`);
  });
});
