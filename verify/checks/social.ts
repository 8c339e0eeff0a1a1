import { group } from "../check.ts";
import { further, missing, specified } from "../errors.ts";
import { expectError, expectResult, expectSameAnswer } from "../expect.ts";
import { addIdentity } from "../identity-calls.ts";
import { sharedDevice, sharedUser, uniqueName, type World } from "../world.ts";

const parameters = ["identityProviderName", "identityID", "identityAccessToken"] as const;

/** Login with a proof that no provider signed. */
async function logIn(world: World, fields: Readonly<Record<string, unknown>> = {}) {
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
      expectError(await logIn(world, { identityAccessToken }), specified.badUserNameOrPassword);
    });
  for (const identityProviderName of ["google", "__proto__", "constructor", "oidc", "../settings", "\u{1f642}", "%"])
    it(`spec/users#log-in-with-a-provider · POST /users/login/social: 403 for the provider ${identityProviderName}, under each parameter name`, async (world) => {
      const answer = await logIn(world, { identityProviderName });
      expectError(answer, specified.badUserNameOrPassword);
      const fields = { identityProviderName: undefined, identityProviderId: identityProviderName };
      expectSameAnswer(await logIn(world, fields), answer);
    });
  it("spec/users#social-users · POST /users/login/social: an unverified identity that a user has added cannot be used to log in", async (world) => {
    const user = await sharedUser(world);
    const [identityProviderName, identityID] = [uniqueName(), uniqueName()];
    expectResult(await addIdentity(world, user, identityProviderName, identityID));
    const answer = await logIn(world, { identityProviderName, identityID });
    expectError(answer, specified.badUserNameOrPassword);
    expectSameAnswer(answer, await logIn(world));
  });
  for (const name of parameters)
    it(`spec/users#log-in-with-a-provider · POST /users/login/social: 400 ParameterMissingRequiredValue without ${name}`, async (world) => {
      for (const value of [undefined, null, ""]) expectError(await logIn(world, { [name]: value }), missing(name));
    });
  for (const name of parameters)
    it(`spec/users#log-in-with-a-provider · POST /users/login/social: 400 ParameterIncorrectFormat for an object as ${name}`, async (world) => {
      const expected = { ...further.incorrectFormat, message: new RegExp(name) };
      for (const value of [{ a: 1 }, ["x"], {}]) expectError(await logIn(world, { [name]: value }), expected);
    });
});
