import type { Group } from "../check.ts";
import type { Answer } from "../client.ts";
import { specified } from "../errors.ts";
import { expectError, expectThat } from "../expect.ts";
import { registerDevice, sharedDevice, sharedUser, signUp, uniqueName, type World } from "../world.ts";

/** One way into each row. */
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

/** The error table of service.md, row by row: name, number, status, and message where the table gives one. */
export const errors: Group = {
  name: "errors",
  checks: {
    "service.md · Errors: ParameterOutOfRange 514, 400, password shorter than 4, message names parameter and rule":
      async (world) => expectError(await ways.passwordTooShort(world), specified.passwordTooShort),
    "service.md · Errors: ItemAlreadyExists 770, 400, username in use, message asks for a unique value": async (
      world,
    ) => expectError(await ways.userNameTaken(world), specified.userNameTaken),
    "service.md · Errors: AuthBadUsernameOrPassword 262, 403, user name unknown, no message": async (world) =>
      expectError(await ways.userNameUnknown(world), specified.badUserNameOrPassword),
    "service.md · Errors: AuthBadUsernameOrPassword 262, 403, password wrong, no message": async (world) =>
      expectError(await ways.passwordWrong(world), specified.badUserNameOrPassword),
    'service.md · Errors: ParameterOutOfRange 514, 401, appid malformed, "Incorrect id type, expected App."': async (
      world,
    ) => expectError(await ways.appIdMalformed(world), specified.appIdMalformed),
    "service.md · Errors: AuthAppCredentialsInvalid 261, 401, key wrong, message asks to check the values": async (
      world,
    ) => expectError(await ways.appKeyWrong(world), specified.appCredentialsInvalid),
    'service.md · Errors: AuthAccessTokenInvalid 261, 401, token unreadable, "Incorrect token type."': async (world) =>
      expectError(await ways.tokenUnreadable(world), specified.tokenInvalid),
    'service.md · Errors: AuthAccessTokenInvalid 261, 401, user token after logout, "Incorrect token type."': async (
      world,
    ) => expectError(await ways.tokenAfterLogout(world), specified.tokenInvalid),
    "service.md · Errors: AuthUserAccessTokenRequired 263, 403, device token sent, no message": async (world) =>
      expectError(await ways.deviceTokenSent(world), specified.userTokenRequired),
    "service.md · Errors: every failure has success false and a request_id of its own": async (world) => {
      const answers: Answer[] = [];
      for (const way of Object.values(ways)) answers.push(await way(world));
      for (const answer of answers) expectThat(answer, answer.body?.success === false, "success false");
      const ids = answers.map((answer) => answer.body.request_id);
      const [first] = answers;
      if (first !== undefined) expectThat(first, new Set(ids).size === ids.length, `different ids, not ${ids}`);
    },
  },
};
