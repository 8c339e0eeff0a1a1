import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import {
  type Answer,
  assertError,
  assertResult,
  startTestApp,
  type TestApp,
  type TestUser,
} from "../../test/harness.ts";

let test: TestApp;
let user: TestUser;
before(async () => {
  test = await startTestApp();
  user = await test.signUp();
});
after(() => test.close());

function pathOf(provider: string, identityId?: string): string {
  return [provider, identityId]
    .filter((part) => part !== undefined)
    .map((part) => `/${encodeURIComponent(part)}`)
    .join("");
}

function add(provider: string, identityId: string, { token } = user): Promise<Answer> {
  return test.call(`POST /users/me/identities${pathOf(provider)}`, { token, body: { identityId } });
}

function find(provider: string, identityId: string, { token } = user): Promise<Answer> {
  return test.call(`GET /users/identities${pathOf(provider, identityId)}`, { token });
}

/** Sends DELETE to `/users/me/identities` plus this suffix. */
function remove(rest: string, body?: unknown, { token } = user): Promise<Answer> {
  return test.call(`DELETE /users/me/identities${rest}`, { token, body });
}

/** Returns the pairs that a user holds, sorted. */
async function pairs({ token } = user): Promise<string[]> {
  const { pageResults } = (await test.call("GET /users/me/identities", { token })).body.result;
  return pageResults
    .map((each: Record<string, string>) => `${each["identityProviderName"]} ${each["identityProviderID"]}`)
    .sort();
}

/** Marks a user as deleted, before the erasure of the user's data. */
async function beginDeletion({ id }: TestUser): Promise<void> {
  await test.app.database.write(({ queries }) =>
    queries.updateTable("users").set({ deleted_at: test.now() }).where("id", "=", id).execute(),
  );
}

describe("DELETE /users/me/identities/{identityProviderName}: spec/identities#remove-an-identity", () => {
  it("answers 200 true and removes the identity, named in the path, the query or the body, in any letter case", async () => {
    for (const [rest, body] of [
      ["/crm/1"],
      ["/crm?identityId=1"],
      ["/crm?IDENTITYID=1"],
      ["/crm", { identityId: "1" }],
      ["/crm", { identityID: 1 }],
      ["/crm", "identityid=1"],
      ["/crm/1?identityId=2", { identityId: "2" }],
    ] as const) {
      const me = await test.signUp("Jane", await test.createApplication());
      for (const [provider, id] of [
        ["crm", "1"],
        ["crm", "2"],
        ["other", "1"],
      ] as const) {
        await add(provider, id, me);
      }
      const headers = typeof body === "string" ? { "content-type": "application/x-www-form-urlencoded" } : {};
      const operation = `DELETE /users/me/identities${rest}`;
      assertResult(await test.call(operation, { token: me.token, body, headers }), 200, true);
      assert.deepEqual(await pairs(me), ["crm 2", "other 1"], rest);
      assertError(await find("crm", "1", me), 404, "ItemDoesNotExist", 769, "The item does not exist.");
    }
  });

  it("removes all identities of the provider without an identityId, with null and with the empty string", async () => {
    for (const [rest, body] of [
      ["/crm"],
      ["/crm", {}],
      ["/crm", { identityId: null }],
      ["/crm?identityId="],
    ] as const) {
      const me = await test.signUp("Jane", await test.createApplication());
      for (const id of ["1", "2"]) await add("crm", id, me);
      await add("CRM", "1", me);
      assertResult(await remove(rest, body, me), 200, true);
      assert.deepEqual(await pairs(me), ["CRM 1"], rest);
    }
  });

  it("answers 200 true even when there is nothing to remove, and when repeated", async () => {
    for (const rest of ["/nobody", "/nobody/1", "/nobody?identityId=1"]) {
      for (let time = 0; time < 2; time++) assertResult(await remove(rest), 200, true);
    }
  });

  it("answers 200 true for an identity of another user or another application, without removing it", async () => {
    const other = await test.signUp();
    const stranger = await test.signUp("Stranger", await test.createApplication());
    for (const each of [other, stranger]) await add("theirs", "1", each);
    for (const rest of ["/theirs", "/theirs/1", "/theirs?identityId=1"]) assertResult(await remove(rest), 200, true);
    for (const each of [other, stranger]) assertResult(await find("theirs", "1", each), 200, each.id);
  });

  it("frees the identity for another user, and its user can add it again", async () => {
    const other = await test.signUp();
    await add("crm", "moving");
    await remove("/crm/moving");
    assertResult(await add("crm", "moving", other), 200, 1);
    assertResult(await find("crm", "moving"), 200, other.id);
    await remove("/crm/moving", undefined, other);
    assertResult(await add("crm", "moving"), 200, 1);
  });

  it("treats provider and identifier as arbitrary Unicode text without wildcards", async () => {
    const names = ["a/b", "%2F", "__proto__", "constructor", "toString", "%", "_", "' or 1=1 --", "\u202Eابجد"];
    const long = ["e\u0301", `e${"\u0301".repeat(255)}`, "👍".repeat(256)];
    const me = await test.signUp();
    for (const name of [...names, ...long]) await add(name, name, me);
    for (const name of [...names, ...long]) {
      const count = (await pairs(me)).length;
      assertResult(await remove(pathOf(name, `${name.slice(0, -2)}%`), undefined, me), 200, true);
      assert.equal((await pairs(me)).length, count - (name === "%" ? 1 : 0));
      assertResult(await remove(pathOf(name, name), undefined, me), 200, true);
      assert.equal((await pairs(me)).length, count - 1);
    }
  });

  it("answers 400 for values that are not strings, and for more than 256 characters", async () => {
    for (const wrong of [{}, ["x"], true]) {
      const answer = await remove("/crm", { identityId: wrong });
      assertError(answer, 400, "ParameterIncorrectFormat", 515, "identityId must be a text.");
    }
    const long = "x".repeat(257);
    for (const [rest, name] of [
      [`/${long}`, "identityProviderName"],
      [`/crm/${long}`, "identityId"],
      [`/crm?identityId=${long}`, "identityId"],
    ] as const) {
      const answer = await remove(rest);
      assertError(answer, 400, "ParameterOutOfRange", 514, `${name} must have at most 256 characters.`);
    }
  });

  it("allows at most one holder of a pair after concurrent removals and additions by many users", async () => {
    const users = await Promise.all(Array.from({ length: 5 }, () => test.signUp()));
    await Promise.all(
      users.flatMap((each) => [1, 2, 3].flatMap(() => [add("crm", "fought", each), remove("/crm/fought", {}, each)])),
    );
    const holders = (await Promise.all(users.map((each) => pairs(each)))).flat();
    assert.ok(holders.length <= 1);
  });
});

describe("identities of a user who is being deleted: spec/identities#find-a-user-by-identity", () => {
  it("are hidden and available to others before they are erased", async () => {
    const leaving = await test.signUp();
    for (const id of ["1", "2"]) await add("left", id, leaving);
    await beginDeletion(leaving);
    for (const id of ["1", "2"]) {
      assertError(await find("left", id), 404, "ItemDoesNotExist", 769, "The item does not exist.");
    }
    assertResult(await add("left", "1"), 200, 1);
    assertResult(await find("left", "1"), 200, user.id);
    assert.ok((await pairs()).includes("left 1"));
  });

  it("can be claimed by one of many users once they are free", async () => {
    const users = await Promise.all(Array.from({ length: 10 }, () => test.signUp()));
    const leaving = await test.signUp();
    await add("left", "contested", leaving);
    await beginDeletion(leaving);
    const answers = await Promise.all(users.map((each) => add("left", "contested", each)));
    const winners = users.filter((_, n) => answers[n]?.status === 200);
    assert.equal(winners.length, 1);
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      assertError(answer, 400, "ItemAlreadyExists", 770, "The identity belongs to another user.");
    }
    assertResult(await find("left", "contested"), 200, winners[0]?.id);
  });

  it("cannot be added when the deletion of their user wins the race: the addition is refused like the user's token", async () => {
    const leaving = await test.signUp();
    const additions = Array.from({ length: 20 }, (_, n) => add("late", `${n}`, leaving));
    const [deleted, ...answers] = await Promise.all([
      test.call("DELETE /users/me", { token: leaving.token }),
      ...additions,
    ]);
    assertResult(deleted, 200, true);
    for (const answer of answers) {
      if (answer.status === 200) assertResult(answer, 200, 1);
      else assertError(answer, 401, "AuthAccessTokenInvalid", 261, "Incorrect token type.");
    }
    for (let n = 0; n < answers.length; n++) assert.equal((await find("late", `${n}`)).status, 404);
  });
});

describe("verified identities", () => {
  it("stay verified when their user adds them again, and when another user tries to", async () => {
    async function isVerified(): Promise<number | undefined> {
      const { reads } = test.app.database;
      const row = reads.selectFrom("identities").select("is_verified").where("identifier", "=", "proved");
      return (await row.executeTakeFirst())?.is_verified;
    }
    await add("oidc", "proved");
    assert.equal(await isVerified(), 0);
    await test.app.database.write(({ queries }) =>
      queries.updateTable("identities").set({ is_verified: 1 }).where("identifier", "=", "proved").execute(),
    );
    assertResult(await add("oidc", "proved"), 200, 1);
    const refused = await add("oidc", "proved", await test.signUp());
    assertError(refused, 400, "ItemAlreadyExists", 770, "The identity belongs to another user.");
    assert.equal(await isVerified(), 1);
  });
});
