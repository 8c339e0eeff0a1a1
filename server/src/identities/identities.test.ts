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

const taken = "The identity belongs to another user.";

/** Creates a user on the device that all users share. */
async function createUser(username: string): Promise<Pick<TestUser, "id" | "token">> {
  const body = { username, password: "correct horse" };
  const { id, accessToken: token } = (await test.call("POST /users", { token: user.deviceToken, body })).body.result;
  return { id, token };
}

function add(provider: string, identityId: unknown, { token }: Pick<TestUser, "token"> = user): Promise<Answer> {
  const path = `/users/me/identities/${encodeURIComponent(provider)}`;
  return test.call(`POST ${path}`, { token, body: { identityId } });
}

function find(provider: string, identityId: string, { token } = user): Promise<Answer> {
  const path = `/users/identities/${encodeURIComponent(provider)}/${encodeURIComponent(identityId)}`;
  return test.call(`GET ${path}`, { token });
}

function list(query = "", { token } = user): Promise<Answer> {
  return test.call(`GET /users/me/identities${query}`, { token });
}

function assertUnknown(answer: Answer): void {
  assertError(answer, 404, "ItemDoesNotExist", 769, "The item does not exist.");
}

describe("POST /users/me/identities/{identityProviderName}: spec/identities#add-an-identity", () => {
  it("answers 200 with the integer 1", async () => {
    assertResult(await add("crm", "4711"), 200, 1);
  });

  it("answers 1 again for a repeated pair of the same user, and the identity stays unchanged", async () => {
    const me = await test.signUp();
    await add("crm", "again", me);
    const before = (await list("", me)).body.result.pageResults;
    test.advance(1_000);
    assertResult(await add("crm", "again", me), 200, 1);
    assert.deepEqual((await list("", me)).body.result.pageResults, before);
  });

  it("answers 400 ItemAlreadyExists for a pair of another user of the application, who still holds it", async () => {
    const other = await test.signUp();
    await add("crm", "held", other);
    assertError(await add("crm", "held"), 400, "ItemAlreadyExists", 770, taken);
    assertResult(await find("crm", "held"), 200, other.id);
  });

  it("accepts the same pair in another application", async () => {
    const stranger = await test.signUp("Stranger", await test.createApplication());
    await add("crm", "everywhere");
    assertResult(await add("crm", "everywhere", stranger), 200, 1);
    assertResult(await find("crm", "everywhere"), 200, user.id);
    assertResult(await find("crm", "everywhere", stranger), 200, stranger.id);
  });

  it("succeeds for one of a hundred users who claim one pair concurrently; the others receive ItemAlreadyExists", async () => {
    const users = await Promise.all(Array.from({ length: 100 }, (_, n) => createUser(`claimant ${n}`)));
    const answers = await Promise.all(users.map((each) => add("crm", "contested", each)));
    const winners = users.filter((_, n) => answers[n]?.status === 200);
    assert.equal(winners.length, 1);
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      assertError(answer, 400, "ItemAlreadyExists", 770, taken);
    }
    assertResult(await find("crm", "contested"), 200, winners[0]?.id);
  });

  it("creates one identity in a hundred concurrent additions by one user", async () => {
    const me = await test.signUp();
    const answers = await Promise.all(Array.from({ length: 100 }, () => add("crm", "hasty", me)));
    for (const answer of answers) assertResult(answer, 200, 1);
    assert.equal((await list("", me)).body.result.pageResults.length, 1);
  });

  it("accepts several identifiers of one provider, and one identifier of several providers", async () => {
    const me = await test.signUp();
    for (const [provider, id] of [
      ["a", "x"],
      ["a", "y"],
      ["b", "x"],
    ] as const) {
      assertResult(await add(provider, id, me), 200, 1);
    }
    assert.equal((await list("", me)).body.result.pageResults.length, 3);
  });

  it("preserves and distinguishes letter case and Unicode normalization form", async () => {
    const other = await test.signUp();
    await add("Case", "Zoë");
    for (const [provider, id] of [
      ["case", "Zoë"],
      ["Case", "zoë"],
      ["Case", "Zoe\u0308"],
    ] as const) {
      assertUnknown(await find(provider, id));
      assertResult(await add(provider, id, other), 200, 1);
    }
    assertResult(await find("Case", "Zoë"), 200, user.id);
  });

  it("accepts as provider and identifier any Unicode text of up to 256 characters", async () => {
    const me = await test.signUp();
    const texts = ["a/b", "a?b#c", "a b+c", "%2F", "..", "__proto__", "\u202Eابجد", "👩‍👩‍👧‍👦", "𝒳".repeat(256)];
    for (const text of texts) {
      assertResult(await add(text, text, me), 200, 1);
      assertResult(await find(text, text, me), 200, me.id);
      const { pageResults } = (await list(`/${encodeURIComponent(text)}`, me)).body.result;
      assert.deepEqual(
        pageResults.map((each: Record<string, string>) => [each["identityProviderName"], each["identityProviderID"]]),
        [[text, text]],
      );
    }
  });

  it("reads a number as identityId in decimal digits", async () => {
    assertResult(await add("numbers", 4711), 200, 1);
    assertResult(await find("numbers", "4711"), 200, user.id);
  });

  it("answers 400 ParameterMissingRequiredValue without an identityId", async () => {
    for (const missing of [undefined, null, ""]) {
      const answer = await add("crm", missing);
      assertError(answer, 400, "ParameterMissingRequiredValue", 513, "identityId is required.");
    }
  });

  it("answers 400 ParameterIncorrectFormat for an object, an array or a boolean", async () => {
    for (const wrong of [{}, ["x"], true]) {
      assertError(await add("crm", wrong), 400, "ParameterIncorrectFormat", 515, "identityId must be a text.");
    }
  });

  it("answers 400 ParameterOutOfRange for more than 256 characters", async () => {
    const long = "x".repeat(257);
    for (const [answer, name] of [
      [await add("crm", long), "identityId"],
      [await add(long, "1"), "identityProviderName"],
      [await find(long, "1"), "identityProviderName"],
      [await find("crm", long), "identityId"],
    ] as const) {
      assertError(answer, 400, "ParameterOutOfRange", 514, `${name} must have at most 256 characters.`);
    }
  });
});

describe("GET /users/identities/{identityProviderName}/{identityId}: spec/identities#find-a-user-by-identity", () => {
  it("answers 200 with the user's id as a string", async () => {
    const other = await test.signUp();
    await add("crm", "look-up", other);
    assertResult(await find("crm", "look-up"), 200, other.id);
  });

  it("answers 404 ItemDoesNotExist for the identity of another user in celebMode, who still finds their own", async () => {
    const celebrity = await test.signUp();
    await add("crm", "celebrity", celebrity);
    const set = (celebMode: boolean) => test.call("PATCH /users/me", { token: celebrity.token, body: { celebMode } });
    await set(true);
    assertUnknown(await find("crm", "celebrity"));
    const own = await test.call("GET /users/identities/crm/celebrity", { token: celebrity.token });
    assertResult(own, 200, celebrity.id);
    await set(false);
    assertResult(await find("crm", "celebrity"), 200, celebrity.id);
  });

  it("answers 404 ItemDoesNotExist for an identity without a holder, or one in another application", async () => {
    const stranger = await test.signUp("Jane", await test.createApplication());
    await add("crm", "theirs", stranger);
    for (const id of ["theirs", "nobody's", "%", "look_up"]) assertUnknown(await find("crm", id));
  });
});

describe("GET /users/me/identities and …/{identityProviderName}: spec/identities#list-identities", () => {
  it("answers 200 with the caller's identities, newest first, without other fields", async () => {
    const me = await test.signUp();
    const expected: unknown[] = [];
    for (const [provider, id] of [
      ["b", "1"],
      ["a", "2"],
      ["b", "3"],
    ] as const) {
      await add(provider, id, me);
      const created = `/Date(${test.now()})/`;
      expected.unshift({ identityProviderName: provider, identityProviderID: id, created });
      test.advance(1);
    }
    const all = await list("", me);
    assertResult(all, 200, { pageResults: expected, currentToken: all.body.result.currentToken });
    const ofOne = await list("/b", me);
    const { currentToken } = ofOne.body.result;
    assertResult(ofOne, 200, { pageResults: [expected[0], expected[2]], currentToken });
  });

  it("answers 200 with an empty page for a provider with which the caller has no identity, even if others have", async () => {
    const other = await test.signUp();
    await add("theirs", "1", other);
    for (const query of ["/theirs", "/nobody"]) {
      const answer = await list(query);
      assertResult(answer, 200, { pageResults: [], currentToken: answer.body.result.currentToken });
    }
  });

  it("pages forward and back over every identity exactly once, including those of one millisecond", async () => {
    const me = await test.signUp();
    for (let n = 0; n < 9; n++) await add(n % 2 === 0 ? "even" : "odd", `${n}`, me);
    for (const [path, count] of [
      ["", 9],
      ["/even", 5],
    ] as const) {
      const whole = (await list(path, me)).body.result.pageResults;
      assert.equal(whole.length, count);
      const forward: unknown[] = [];
      let page = (await list(`${path}?pageSize=2`, me)).body.result;
      forward.push(...page.pageResults);
      while (page.nextToken !== undefined) {
        page = (await list(`${path}?pagingToken=${page.nextToken}`, me)).body.result;
        forward.push(...page.pageResults);
      }
      assert.deepEqual(forward, whole);
      const back = [...page.pageResults];
      while (page.previousToken !== undefined) {
        page = (await list(`${path}?pagingToken=${page.previousToken}`, me)).body.result;
        back.unshift(...page.pageResults);
      }
      assert.deepEqual(back, whole);
      assert.deepEqual((await list(`${path}?pagingToken=2;1`, me)).body.result.pageResults, whole.slice(1, 3));
    }
  });

  it("restores the provider from a page token of its list", async () => {
    const me = await test.signUp();
    for (let n = 0; n < 3; n++) await add("one", `${n}`, me);
    await add("two", "x", me);
    const { nextToken } = (await list("/one?pageSize=1", me)).body.result;
    const { pageResults } = (await list(`/one?pagingToken=${nextToken}`, me)).body.result;
    assert.equal(pageResults[0].identityProviderName, "one");
  });
});
