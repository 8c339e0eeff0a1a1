import { group } from "../check.ts";
import { further } from "../errors.ts";
import { expectEqual, expectError, expectExactly, expectResult } from "../expect.ts";
import { addIdentity, findIdentity, listIdentities } from "../identity-calls.ts";
import { sharedUser, signUp, uniqueName } from "../world.ts";

const providers: Readonly<Record<string, string>> = {
  "a slash": "a/b",
  "a percent sign": "100%",
  "something like an escape": "%2F",
  "a question mark, an ampersand and a hash": "a?b&c#d",
  "a plus and a space": "a+b c",
  "a semicolon and an equals sign": "a;b=c",
  "letters beyond ASCII": "\u00fc\u0431\u05d0",
  "4-byte Unicode": "\u{1f642}\u{20000}",
  "256 characters of four bytes": "\u{1f642}".repeat(256),
  "256 letters": "x".repeat(256),
  "right-to-left marks": "\u202eabc\u200f",
  "a combining mark": "e\u0301",
  "a quote": "it's",
  "a LIKE wildcard": "%_",
  "a backslash": "a\\b",
  "a colon": ":provider",
  "the name __proto__": "__proto__",
  "the name constructor": "constructor",
  "the name toString": "toString",
};

/** Names of providers and identifiers (spec/identities#identity-names, hostile.md 15, 19, 20). */
export const identityNames = group("identity-names", (it) => {
  for (const pattern of ["%", "_", "*"])
    it(`hostile.md 20 · GET /users/identities: ${pattern} is literal`, async (world) => {
      const user = await sharedUser(world);
      const identityId = uniqueName();
      expectResult(await addIdentity(world, user, "verify", identityId));
      const answer = await findIdentity(world, user, "verify", identityId.slice(0, -1) + pattern);
      expectError(answer, further.itemDoesNotExist);
    });
  for (const [what, text] of Object.entries(providers))
    it(`spec/identities#identity-names · Provider and identifier may be any Unicode text: ${what}`, async (world) => {
      const user = await signUp(world);
      const identityId = text.length >= 256 ? user.id : `${user.id}${text}`;
      expectExactly(await addIdentity(world, user, text, identityId), 1);
      const listed = await listIdentities(world, user, text);
      const { created: _, ...pair } = expectResult(listed).pageResults[0] ?? {};
      expectEqual(listed, "the pair", pair, { identityProviderName: text, identityProviderID: identityId });
      expectExactly(await findIdentity(world, user, text, identityId), user.id);
      const path = `/users/me/identities/${encodeURIComponent(text)}/${encodeURIComponent(identityId)}`;
      expectExactly(await world.call(`DELETE ${path}`, { token: user.token }), true);
      expectError(await findIdentity(world, user, text, identityId), further.itemDoesNotExist);
    });
  it("spec/identities#identity-names · An identifier may have 256 characters of any kind", async (world) => {
    const user = await signUp(world);
    const identityId = user.id + "\u{1f642}".repeat(256 - user.id.length);
    expectResult(await addIdentity(world, user, "verify", identityId));
    expectExactly(await findIdentity(world, user, "verify", identityId), user.id);
  });
  for (const character of ["x", "\u{1f642}"])
    it(`spec/identities#identity-names · 400 ParameterOutOfRange for 257 characters ${character}`, async (world) => {
      const user = await sharedUser(world);
      const long = character.repeat(257);
      expectError(await addIdentity(world, user, "verify", long), { ...further.outOfRange, message: /identityId/ });
      expectError(await addIdentity(world, user, long, "x"), {
        ...further.outOfRange,
        message: /identityProviderName/,
      });
    });
  it("spec/identities#identity-names · Two pairs that are equal when joined are distinct", async (world) => {
    const [first, second] = [await signUp(world), await signUp(world)];
    expectResult(await addIdentity(world, first, first.id, "b/c"));
    expectResult(await addIdentity(world, second, `${first.id}/b`, "c"));
    expectExactly(await findIdentity(world, first, `${first.id}/b`, "c"), second.id);
  });
});
