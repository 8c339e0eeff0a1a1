import { group } from "../check.ts";
import { further, missing } from "../errors.ts";
import { expectDate, expectEqual, expectError, expectExactly, expectResult } from "../expect.ts";
import { addIdentity, findIdentity, listIdentities } from "../identity-calls.ts";
import { otherUser, sharedUser, signUp, type TestUser, uniqueName, type World } from "../world.ts";

/** Removes the identities that the rest of the path, or the body, names. */
async function removeIdentities(world: World, user: TestUser, rest: string, body?: unknown) {
  return world.call(`DELETE /users/me/identities/${rest}`, { token: user.token, body });
}

/** Identities (spec/identities). */
export const identities = group("identities", (it) => {
  it("spec/identities#add-an-identity · POST /users/me/identities/{identityProviderName}: 200, result the integer 1, success true", async (world) => {
    const answer = await addIdentity(world, await sharedUser(world), "verify", uniqueName());
    expectExactly(answer, 1);
    expectEqual(answer, "success", answer.body.success, true);
  });
  it("spec/identities#add-an-identity · Adding a pair again returns 1 again, and the list has it once", async (world) => {
    const user = await signUp(world);
    const identityId = uniqueName();
    const once = [1, 2, 3].map(() => addIdentity(world, user, "verify", identityId));
    for (const answer of await Promise.all(once)) expectExactly(answer, 1);
    expectExactly(await addIdentity(world, user, "verify", identityId), 1);
    const listed = await listIdentities(world, user);
    expectEqual(listed, "identities", expectResult(listed).pageResults.length, 1);
  });
  it("spec/identities#add-an-identity · 400 ItemAlreadyExists for a pair that another user of the application holds", async (world) => {
    const identityId = uniqueName();
    expectResult(await addIdentity(world, await sharedUser(world), "verify", identityId));
    expectError(await addIdentity(world, await otherUser(world), "verify", identityId), further.itemAlreadyExists);
  });
  it("hostile.md 4 · Of five users who add one pair concurrently one gets it", async (world) => {
    const users = await Promise.all([1, 2, 3, 4, 5].map(() => signUp(world)));
    const identityId = uniqueName();
    const answers = await Promise.all(users.map((user) => addIdentity(world, user, "verify", identityId)));
    const [winner, ...others] = answers.toSorted((a, b) => a.status - b.status);
    if (winner !== undefined) expectExactly(winner, 1);
    for (const answer of others) expectError(answer, further.itemAlreadyExists);
  });
  it("spec/identities#add-an-identity · A user may have one identifier with two providers, and two identifiers with one provider", async (world) => {
    const [first, second] = [await sharedUser(world), await otherUser(world)];
    const identityId = uniqueName();
    expectResult(await addIdentity(world, first, "verify", identityId));
    expectResult(await addIdentity(world, second, "verify 2", identityId));
    expectResult(await addIdentity(world, second, "verify", `${identityId}2`));
    expectExactly(await findIdentity(world, first, "verify 2", identityId), second.id);
  });
  it("spec/identities#list-identities · GET /users/me/identities: identityProviderName, identityProviderID, created", async (world) => {
    const user = await signUp(world);
    expectResult(await addIdentity(world, user, "one", user.id));
    expectResult(await addIdentity(world, user, "two", user.id));
    const answer = await listIdentities(world, user);
    const { pageResults, currentToken } = expectResult(answer);
    const found = pageResults.map(({ created, ...others }: { created: string }) => {
      expectDate(answer, "created", created);
      return others;
    });
    const pair = (name: string) => ({ identityProviderName: name, identityProviderID: user.id });
    const byName = (a: { identityProviderName: string }, b: typeof a) =>
      a.identityProviderName < b.identityProviderName ? -1 : 1;
    expectEqual(answer, "identities", found.toSorted(byName), [pair("one"), pair("two")]);
    expectEqual(answer, "type of currentToken", typeof currentToken, "string");
  });
  it("spec/identities#list-identities · GET /users/me/identities/{provider}: returns the identities of that provider", async (world) => {
    const user = await signUp(world);
    expectResult(await addIdentity(world, user, "one", user.id));
    expectResult(await addIdentity(world, user, "two", user.id));
    const answer = await listIdentities(world, user, "two");
    const names = expectResult(answer).pageResults.map(
      (row: { identityProviderName: string }) => row.identityProviderName,
    );
    expectEqual(answer, "providers", names, ["two"]);
    const none = await listIdentities(world, user, "three");
    expectEqual(none, "pageResults", expectResult(none).pageResults, []);
  });
  it("spec/identities#list-identities · GET /users/me/identities: is paged", async (world) => {
    const user = await signUp(world);
    const made = [1, 2, 3, 4, 5].map((number) => `${user.id} ${number}`);
    for (const identityId of made) expectResult(await addIdentity(world, user, "verify", identityId));
    const seen: string[] = [];
    let query: Record<string, string> | undefined = { pageSize: "2" };
    while (query !== undefined) {
      const answer = await world.call("GET /users/me/identities", { token: user.token, query });
      const { pageResults, nextToken } = expectResult(answer);
      seen.push(...pageResults.map((row: { identityProviderID: string }) => row.identityProviderID));
      query = nextToken === undefined || seen.length > 10 ? undefined : { pagingToken: nextToken };
      if (query === undefined) expectEqual(answer, "identifiers", seen.toSorted(), made);
    }
  });
  it("spec/identities#find-a-user-by-identity · User identity: allows look-up of a user by an identifier from another system", async (world) => {
    const user = await sharedUser(world);
    const identityId = uniqueName();
    expectResult(await addIdentity(world, user, "verify", identityId));
    for (const caller of [user, await otherUser(world)]) {
      const answer = await findIdentity(world, caller, "verify", identityId);
      expectEqual(answer, "result, the user's id as a plain string", expectResult(answer), user.id);
    }
  });
  it("spec/identities#find-a-user-by-identity · GET /users/identities/{provider}/{identityId}: 404 ItemDoesNotExist when no user has it", async (world) => {
    expectError(await findIdentity(world, await sharedUser(world), "verify", uniqueName()), further.itemDoesNotExist);
  });
  for (const value of [undefined, null, ""])
    it(`spec/identities#add-an-identity · identityId is required: 400 ParameterMissingRequiredValue for ${JSON.stringify(value) ?? "none"}`, async (world) => {
      expectError(await addIdentity(world, await sharedUser(world), "verify", value), missing("identityId"));
    });
  it("spec/transport#scalars · A number as identityId is its decimal text", async (world) => {
    const user = await sharedUser(world);
    const number = Math.floor(Math.random() * 1e15);
    expectResult(await addIdentity(world, user, "verify", number));
    expectExactly(await findIdentity(world, user, "verify", String(number)), user.id);
  });
  for (const named of ["/1", "?identityId=1", "?IDENTITYid=1", { identityId: "1" }, { identityID: 1 }])
    it(`spec/identities#remove-an-identity · DELETE /users/me/identities/{provider}: true, with the id as ${JSON.stringify(named)}`, async (world) => {
      const user = await signUp(world);
      const provider = uniqueName();
      for (const identityId of ["1", "2"]) expectResult(await addIdentity(world, user, provider, identityId));
      const isPath = typeof named === "string";
      const body = isPath ? undefined : named;
      expectExactly(await removeIdentities(world, user, `${provider}${isPath ? named : ""}`, body), true);
      const listed = await listIdentities(world, user);
      const left = expectResult(listed).pageResults.map(
        (row: { identityProviderID: string }) => row.identityProviderID,
      );
      expectEqual(listed, "identifiers", left, ["2"]);
      expectError(await findIdentity(world, user, provider, "1"), further.itemDoesNotExist);
    });
  it("spec/identities#remove-an-identity · DELETE /users/me/identities/{provider}: without an id, removes all of that provider", async (world) => {
    const user = await signUp(world);
    for (const id of ["1", "2"]) expectResult(await addIdentity(world, user, "verify", user.id + id));
    expectResult(await addIdentity(world, user, "verify 2", user.id));
    expectExactly(await removeIdentities(world, user, "verify"), true);
    const listed = await listIdentities(world, user);
    const left = expectResult(listed).pageResults.map(
      (row: { identityProviderName: string }) => row.identityProviderName,
    );
    expectEqual(listed, "providers", left, ["verify 2"]);
  });
  it("spec/identities#remove-an-identity · DELETE /users/me/identities: true also when there is nothing to remove", async (world) => {
    const user = await sharedUser(world);
    const nothing = uniqueName();
    for (const rest of [nothing, `${nothing}/1`, `${nothing}?identityId=1`]) {
      expectExactly(await removeIdentities(world, user, rest), true);
    }
  });
  it("spec/identities#remove-an-identity · DELETE /users/me/identities: does not remove identities of other users", async (world) => {
    const [owner, other] = [await sharedUser(world), await otherUser(world)];
    const provider = uniqueName();
    expectResult(await addIdentity(world, owner, provider, "1"));
    for (const rest of [provider, `${provider}/1`, `${provider}?identityId=1`]) {
      expectExactly(await removeIdentities(world, other, rest), true);
    }
    expectExactly(await findIdentity(world, other, provider, "1"), owner.id);
  });
  it("spec/identities#remove-an-identity · A removed identity is free for another user", async (world) => {
    const [first, second] = [await sharedUser(world), await otherUser(world)];
    const identityId = uniqueName();
    expectResult(await addIdentity(world, first, "verify", identityId));
    expectResult(await removeIdentities(world, first, `verify/${identityId}`));
    expectResult(await addIdentity(world, second, "verify", identityId));
    expectExactly(await findIdentity(world, first, "verify", identityId), second.id);
  });
  it("spec/identities#find-a-user-by-identity · The identities of a deleted user are removed, and free", async (world) => {
    const [leaving, user] = [await signUp(world), await sharedUser(world)];
    const identityId = uniqueName();
    expectResult(await addIdentity(world, leaving, "verify", identityId));
    expectResult(await world.call("DELETE /users/me", { token: leaving.token }));
    expectError(await findIdentity(world, user, "verify", identityId), further.itemDoesNotExist);
    expectResult(await addIdentity(world, user, "verify", identityId));
  });
});

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
