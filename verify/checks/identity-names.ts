import { each, type Group } from "../check.ts";
import { further } from "../errors.ts";
import { expectEqual, expectError, expectResult } from "../expect.ts";
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
export const identityNames: Group = {
  name: "identity-names",
  checks: {
    ...each(
      ["%", "_", "*"],
      (pattern) => `hostile.md 20 · GET /users/identities: ${pattern} is literal`,
      async (world, pattern) => {
        const user = await sharedUser(world);
        const identityId = uniqueName();
        expectResult(await addIdentity(world, user, "verify", identityId));
        const answer = await findIdentity(world, user, "verify", identityId.slice(0, -1) + pattern);
        expectError(answer, further.itemDoesNotExist);
      },
    ),
    ...each(
      Object.entries(providers),
      ([what]) => `spec/identities#identity-names · Provider and identifier may be any Unicode text: ${what}`,
      async (world, [, text]) => {
        const user = await signUp(world);
        const identityId = text.length >= 256 ? user.id : `${user.id}${text}`;
        const added = await addIdentity(world, user, text, identityId);
        expectEqual(added, "result", expectResult(added), 1);
        const listed = await listIdentities(world, user, text);
        const { created: _, ...pair } = expectResult(listed).pageResults[0] ?? {};
        expectEqual(listed, "the pair", pair, { identityProviderName: text, identityProviderID: identityId });
        const found = await findIdentity(world, user, text, identityId);
        expectEqual(found, "result", expectResult(found), user.id);
        const path = `/users/me/identities/${encodeURIComponent(text)}/${encodeURIComponent(identityId)}`;
        const removed = await world.call(`DELETE ${path}`, { token: user.token });
        expectEqual(removed, "result", expectResult(removed), true);
        expectError(await findIdentity(world, user, text, identityId), further.itemDoesNotExist);
      },
    ),
    "spec/identities#identity-names · An identifier may have 256 characters of any kind": async (world) => {
      const user = await signUp(world);
      const identityId = user.id + "\u{1f642}".repeat(256 - user.id.length);
      expectResult(await addIdentity(world, user, "verify", identityId));
      const found = await findIdentity(world, user, "verify", identityId);
      expectEqual(found, "result", expectResult(found), user.id);
    },
    ...each(
      ["x", "\u{1f642}"],
      (character) => `spec/identities#identity-names · 400 ParameterOutOfRange for 257 characters ${character}`,
      async (world, character) => {
        const user = await sharedUser(world);
        const long = character.repeat(257);
        expectError(await addIdentity(world, user, "verify", long), { ...further.outOfRange, message: /identityId/ });
        expectError(await addIdentity(world, user, long, "x"), {
          ...further.outOfRange,
          message: /identityProviderName/,
        });
      },
    ),
    "spec/identities#identity-names · Two pairs that are equal when joined are distinct": async (world) => {
      const [first, second] = [await signUp(world), await signUp(world)];
      expectResult(await addIdentity(world, first, first.id, "b/c"));
      expectResult(await addIdentity(world, second, `${first.id}/b`, "c"));
      const answer = await findIdentity(world, first, `${first.id}/b`, "c");
      expectEqual(answer, "result", expectResult(answer), second.id);
    },
  },
};
