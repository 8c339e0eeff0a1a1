import { group } from "../check.ts";
import { further, missing, specified } from "../errors.ts";
import {
  expectDate,
  expectEqual,
  expectError,
  expectResult,
  expectSameAnswer,
  expectThat,
  isObject,
} from "../expect.ts";
import { addIdentity } from "../identity-calls.ts";
import { prepare, tokenOperations } from "../operations.ts";
import { logIn, registerDevice, shared, sharedDevice, sharedUser, signUp, uniqueName, type World } from "../world.ts";

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

const parameters = ["identityProviderName", "identityID", "identityAccessToken"] as const;

/** Login with a proof that no provider signed. */
async function logInWithProof(world: World, fields: Readonly<Record<string, unknown>> = {}) {
  const body = { identityProviderName: uniqueName(), identityID: "nobody", identityAccessToken: "nothing", ...fields };
  return world.call("POST /users/login/social", { token: await sharedDevice(world), body });
}

/** An unsigned token. */
function unsigned(claims: object): string {
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString("base64url");
  return `${encode({ alg: "none", typ: "JWT" })}.${encode(claims)}.`;
}

const tokens: Readonly<Record<string, string>> = {
  "a word": "nothing",
  "an unsigned token": unsigned({ sub: "nobody", iss: "https://verify.invalid", exp: 9_999_999_999 }),
  "an unsigned token without claims": unsigned({}),
  dots: "..",
  "10,000 letters": "x".repeat(10_000),
};

/** Login with an id_token (spec/users#log-in-with-a-provider), as far as it can be checked without a provider. */
export const social = group("social", (it) => {
  for (const [what, identityAccessToken] of Object.entries(tokens))
    it(`spec/users#log-in-with-a-provider · POST /users/login/social: 403 AuthBadUsernameOrPassword for ${what}`, async (world) => {
      expectError(await logInWithProof(world, { identityAccessToken }), specified.badUserNameOrPassword);
    });
  for (const identityProviderName of ["google", "__proto__", "constructor", "oidc", "../settings", "\u{1f642}", "%"])
    it(`spec/users#log-in-with-a-provider · POST /users/login/social: 403 for the provider ${identityProviderName}, under each parameter name`, async (world) => {
      const answer = await logInWithProof(world, { identityProviderName });
      expectError(answer, specified.badUserNameOrPassword);
      const fields = { identityProviderName: undefined, identityProviderId: identityProviderName };
      expectSameAnswer(await logInWithProof(world, fields), answer);
    });
  it("spec/users#social-users · POST /users/login/social: an unverified identity that a user has added cannot be used to log in", async (world) => {
    const user = await sharedUser(world);
    const [identityProviderName, identityID] = [uniqueName(), uniqueName()];
    expectResult(await addIdentity(world, user, identityProviderName, identityID));
    const answer = await logInWithProof(world, { identityProviderName, identityID });
    expectError(answer, specified.badUserNameOrPassword);
    expectSameAnswer(answer, await logInWithProof(world));
  });
  for (const name of parameters)
    it(`spec/users#log-in-with-a-provider · POST /users/login/social: 400 ParameterMissingRequiredValue without ${name}`, async (world) => {
      for (const value of [undefined, null, ""])
        expectError(await logInWithProof(world, { [name]: value }), missing(name));
    });
  for (const name of parameters)
    it(`spec/users#log-in-with-a-provider · POST /users/login/social: 400 ParameterIncorrectFormat for an object as ${name}`, async (world) => {
      const expected = { ...further.incorrectFormat, message: new RegExp(name) };
      for (const value of [{ a: 1 }, ["x"], {}]) expectError(await logInWithProof(world, { [name]: value }), expected);
    });
});
