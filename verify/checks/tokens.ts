import { group, Skip } from "../check.ts";
import type { Answer } from "../client.ts";
import { specified } from "../errors.ts";
import { expectDate, expectEqual, expectError, expectResult, expectThat } from "../expect.ts";
import { deviceOperations, prepare, tokenOperations, userOperations } from "../operations.ts";
import { logIn, registerDevice, shared, sharedDevice, signUp, uniqueName, type World } from "../world.ts";

/** Invalid contents of an Authorization header, made from a valid token. */
const unreadable: readonly [what: string, make: (token: string, world: World) => string | undefined][] = [
  ["no header", () => undefined],
  ["an empty header", () => ""],
  ["the scheme alone", () => "Service"],
  ["the token alone", (token) => token],
  ["another scheme", (token) => `Basic ${token}`],
  ["a scheme that runs into the token", (token) => `Service${token}`],
  ["garbage", () => "Service garbage"],
  ["null", () => "Service null"],
  ["8,000 letters", () => `Service ${"A".repeat(8_000)}`],
  ["a shortened token", (token) => `Service ${token.slice(0, -1)}`],
  ["half a token", (token) => `Service ${token.slice(0, token.length / 2)}`],
  ["a lengthened token", (token) => `Service ${token}A`],
  ["a doubled token", (token) => `Service ${token}${token}`],
  ["a reversed token", (token) => `Service ${[...token].reverse().join("")}`],
  ["an upper-case token", (token) => `Service ${token.toUpperCase()}`],
  ["the application id", (_token, { application }) => `Service ${application.appid}`],
  ["the application key", (_token, { application }) => `Service ${application.appkey}`],
];

const expirySoonMs = 5_000;

/**
 * Outcomes of each device operation with a user token and with the device's token; called concurrently, because some
 * are slow.
 */
const withEitherToken = shared(async (world) => {
  const { token, deviceToken } = await signUp(world);
  async function ask(name: (typeof deviceOperations)[number], token: string): Promise<Answer> {
    const { operation, body } = await prepare(world, name);
    return world.call(operation, { token, body });
  }
  const asked = deviceOperations.map(async (name) => {
    return [name, await Promise.all([ask(name, token), ask(name, deviceToken)])] as const;
  });
  return new Map(await Promise.all(asked));
});

/** Device and user tokens (spec/authentication). */
export const tokens = group("tokens", (it) => {
  for (const name of tokenOperations)
    it(`spec/authentication#authorization-header · Authentication: ${name} needs a token, and application credentials do not replace it`, async (world) => {
      const { operation, body } = await prepare(world, name);
      expectError(await world.call(operation, { body }), specified.tokenInvalid);
      const withCredentials = { ...world.application, ...Object(body) };
      if (!operation.startsWith("GET")) {
        expectError(await world.call(operation, { body: withCredentials }), specified.tokenInvalid);
      }
    });
  for (const name of userOperations)
    it(`spec/authentication#device-token · User token: 403 AuthUserAccessTokenRequired for ${name} with a device token`, async (world) => {
      const { operation, body } = await prepare(world, name);
      expectError(await world.call(operation, { token: await sharedDevice(world), body }), specified.userTokenRequired);
    });
  for (const operation of deviceOperations)
    it(`spec/authentication#user-token · User token: ${operation} accepts it like a device token`, async (world) => {
      const pair = (await withEitherToken(world)).get(operation);
      if (pair === undefined) return;
      const [answer, expected] = pair;
      expectThat(answer, !/AccessToken(?:Invalid|Required)/.test(answer.text), "the token to be valid");
      const outcome = ({ status, body }: Answer) => [status, body.error];
      expectEqual(answer, "status and error", outcome(answer), outcome(expected));
    });
  for (const operation of ["POST /users", "POST /users/login"])
    it(`spec/authentication#user-token · User token: works wherever a device token works: ${operation}`, async (world) => {
      const { token, userName, password } = await signUp(world);
      const username = operation === "POST /users" ? uniqueName() : userName;
      const answer = await world.call(operation, { token, body: { username, password } });
      const { accessToken } = expectResult(answer);
      expectEqual(answer, "type of accessToken", typeof accessToken, "string");
    });
  for (const [what, make] of unreadable)
    it(`spec/authentication#authorization-header · 401 AuthAccessTokenInvalid for ${what}`, async (world) => {
      const Authorization = make(await sharedDevice(world), world);
      expectError(await world.call("POST /users", { headers: { Authorization }, body: {} }), specified.tokenInvalid);
    });
  it("hostile.md 1 · 401 AuthAccessTokenInvalid for a token with any one character changed", async (world) => {
    const token = await registerDevice(world);
    const indexes = Array.from({ length: 40 }, (_, index) => Math.floor((index * (token.length - 1)) / 39));
    for (const index of indexes) {
      const changed = token.slice(0, index) + (token[index] === "A" ? "B" : "A") + token.slice(index + 1);
      expectError(await world.call("POST /users", { token: changed, body: {} }), specified.tokenInvalid);
    }
  });
  it("hostile.md 1 · 401 AuthAccessTokenInvalid for any other last character of a token", async (world) => {
    const token = await registerDevice(world);
    for (const last of "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") {
      if (token.endsWith(last)) continue;
      const changed = token.slice(0, -1) + last;
      expectError(await world.call("POST /users", { token: changed, body: {} }), specified.tokenInvalid);
    }
  });
  it("spec/transport#absolute-urls · Tokens contain no %, space or quote", async (world) => {
    const answer = await world.call("POST /devices", { body: { ...world.application, platform: "verify" } });
    const { accessToken } = expectResult(answer, 201);
    const user = await signUp(world);
    for (const token of [accessToken, user.token]) {
      expectThat(answer, /^[^%\s"'`]+$/.test(token), "tokens without %, blank and quote");
    }
  });
  it("spec/authentication#expiry · Device token: expires in the future, written as /Date(ms)/", async (world) => {
    const answer = await world.call("POST /devices", { body: { ...world.application, platform: "verify" } });
    const expires = expectDate(answer, "accessTokenExpires", expectResult(answer, 201).accessTokenExpires);
    expectThat(answer, expires > Date.now(), "an expiry in the future");
  });
  it("spec/authentication#expiry · States: a token is refused after accessTokenExpires", async (world) => {
    const answer = await world.call("POST /devices", { body: { ...world.application, platform: "verify" } });
    const { accessToken: token, accessTokenExpires } = expectResult(answer, 201);
    const wait = expectDate(answer, "accessTokenExpires", accessTokenExpires) - Date.now();
    if (wait > expirySoonMs) throw new Skip("needs a deployment whose device tokens expire within 5 seconds");
    await new Promise((resolve) => setTimeout(resolve, wait + 100));
    expectError(await world.call("POST /users", { token, body: {} }), specified.tokenInvalid);
  });
  it("spec/authentication#user-token · User token: several can be in use at once, for several users", async (world) => {
    const users = [await signUp(world), await signUp(world), await signUp(world)];
    for (const { token, id } of [...users, ...users]) {
      const answer = await world.call("GET /users/me", { token });
      expectEqual(answer, "result.id", expectResult(answer).id, id);
    }
  });
  it("spec/authentication#user-token · User token: a new login leaves the user's earlier tokens valid", async (world) => {
    const user = await signUp(world);
    const second = await logIn(world, user);
    expectResult(await world.call("GET /users/me", { token: user.token }));
    expectResult(await world.call("GET /users/me", { token: second }));
    expectResult(await world.call("GET /users/me", { token: user.token }));
  });
  it("spec/authentication#device-token · A token issued earlier to the same device stays valid", async (world) => {
    const body = { ...world.application, platform: "verify", uniqueId: uniqueName() };
    const first = expectResult(await world.call("POST /devices", { body }), 201).accessToken;
    const second = expectResult(await world.call("POST /devices", { body }), 201).accessToken;
    for (const token of [first, second]) {
      const credentials = { username: "nobody", password: "wrong" };
      expectError(await world.call("POST /users/login", { token, body: credentials }), specified.badUserNameOrPassword);
    }
  });
});
