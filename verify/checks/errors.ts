import { group, Skip } from "../check.ts";
import type { Answer } from "../client.ts";
import { further, specified } from "../errors.ts";
import { expectEqual, expectError, expectResult, expectThat } from "../expect.ts";
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

const guessesMax = 200;

/** Limits with default settings (spec/limits#rate-limits, hostile.md 7). */
export const limits = group("limits", (it) => {
  it("hostile.md 7 · guessed passwords get 429 with Retry-After; the user's tokens and other logins are unaffected", async (world) => {
    const [user, other] = [await signUp(world), await signUp(world)];
    const token = await registerDevice(world);
    const guess = () =>
      world.call("POST /users/login", {
        token,
        body: { username: user.userName, password: "wrong" },
        isImpatient: true,
      });
    let answer: Answer = await guess();
    for (let n = 1; n < guessesMax && answer.status === 403; n++) {
      expectError(answer, specified.badUserNameOrPassword);
      answer = await guess();
    }
    if (answer.status === 403) throw new Skip("the server lets passwords be guessed, as with RATE_LIMITS=off");
    expectError(answer, further.rateLimitExceeded);
    expectThat(answer, /^[1-9]\d*$/.test(String(answer.headers["retry-after"])), "Retry-After in whole seconds");
    expectResult(await world.call("GET /users/me", { token: user.token }));
    const body = { username: other.userName, password: other.password };
    expectResult(await world.call("POST /users/login", { token: other.deviceToken, body }));
  });
  it("spec/limits#rate-limits · a hundred concurrent calls of one device are allowed", async (world) => {
    const { token } = await signUp(world);
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => world.call("GET /users/me", { token, isImpatient: true })),
    );
    for (const answer of answers) expectResult(answer);
  });
});

/** Failures that clients request (spec/rehearsal). */
export const rehearsal = group("rehearsal", (it) => {
  it("spec/rehearsal#where-rehearsal-is-allowed · Rollcall-Rehearse is obeyed or refused, never ignored", async (world) => {
    const headers = { "Rollcall-Rehearse": "RateLimitExceeded;retry-after=7" };
    const answer = await world.call("GET /users/me", { by: sharedUser, headers });
    expectError(answer, further.disabled, further.rateLimitExceeded);
    if (answer.status !== 429) return;
    expectEqual(answer, "Rollcall-Rehearsed", answer.headers["rollcall-rehearsed"], "RateLimitExceeded");
    expectEqual(answer, "Retry-After", answer.headers["retry-after"], "7");
    const wrong = { "Rollcall-Rehearse": "Nothing" };
    expectError(await world.call("GET /users/me", { by: sharedUser, headers: wrong }), further.outOfRange);
  });
});
