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
import { maintain } from "../app/maintenance.ts";

let test: TestApp;
/** Another process on the same database. */
let other: TestApp;
before(async () => {
  test = await startTestApp();
  other = await startTestApp({ DATABASE_URL: test.config.databaseUrl });
});
after(async () => {
  await other.close();
  await test.close();
});

const dayMs = 86_400_000;

interface Item {
  readonly id: string;
  readonly lastUsed: string;
  readonly current: boolean;
}

function list(token: string, query = "", app = test): Promise<Answer> {
  return app.call(`GET /users/me/tokens${query}`, { token });
}

async function items(token: string, app = test): Promise<Item[]> {
  const { status, body } = await list(token, "", app);
  assert.equal(status, 200);
  return body.result.pageResults;
}

/** Returns a token on a new device. */
async function logIn({ userName, password }: TestUser, platform = "test"): Promise<string> {
  const registered = await test.call("POST /devices", { body: { ...test.application, platform } });
  const body = { username: userName, password };
  const answer = await test.call("POST /users/login", { token: registered.body.result.accessToken, body });
  return answer.body.result.accessToken;
}

function end(token: string, id: string, app = test): Promise<Answer> {
  return app.call(`DELETE /users/me/tokens/${id}`, { token });
}

function assertMissing(answer: Answer): void {
  assertError(answer, 404, "ItemDoesNotExist", 769, "The item does not exist.");
}

async function assertTokenEnded(token: string): Promise<void> {
  for (const app of [test, other]) {
    const answer = await app.call("GET /checkins?pageSize=1", { token });
    assertError(answer, 401, "AuthAccessTokenInvalid", 261, "Incorrect token type.");
  }
}

async function storedTokens({ id }: TestUser): Promise<{ id: string; last_used_at: number }[]> {
  const rows = test.app.database.reads.selectFrom("user_tokens").select(["id", "last_used_at"]);
  return rows.where("user_id", "=", id).orderBy("id").execute();
}

describe("GET /users/me/tokens: spec/users#list-and-end-tokens", () => {
  it("answers 200 with only the user's valid tokens, complete, newest first, and marks the current one", async () => {
    const user = await test.signUp();
    await test.signUp();
    const times = [test.now()];
    const tokens = [user.token];
    for (const platform of ["iOS", "Android"]) {
      test.advance(1_000);
      times.push(test.now());
      tokens.push(await logIn(user, platform));
    }
    test.advance(1_000);
    const answer = await list(tokens[1] ?? "");
    const { pageResults, currentToken } = answer.body.result;
    const date = (time = 0) => `/Date(${time})/`;
    for (const { id, deviceID } of pageResults) {
      assert.match(id, /^tok_[0-9a-z]+$/);
      assert.match(deviceID, /^dev_[0-9a-z]+$/);
    }
    const [third, second, first] = pageResults;
    const expected = (n: number, { id, deviceID }: { id: string; deviceID: string }) => ({
      id,
      deviceID,
      platform: ["test", "iOS", "Android"][n],
      created: date(times[n]),
      lastUsed: date(n === 1 ? test.now() : times[n]),
      expires: date((times[n] ?? 0) + 30 * dayMs),
      current: n === 1,
    });
    const whole = [expected(2, third), expected(1, second), expected(0, first)];
    assertResult(answer, 200, { pageResults: whole, currentToken });
    assert.equal(new Set(whole.flatMap(({ id, deviceID }) => [id, deviceID])).size, 6);
    assert.ok(!answer.text.includes(tokens[1] ?? ""));
  });

  it("pages in both directions, and refuses a page token of another listing or user", async () => {
    const user = await test.signUp();
    for (let n = 0; n < 4; n++) await logIn(user);
    const all = (await items(user.token)).map(({ id }) => id);
    assert.deepEqual(all, all.toSorted().reverse());
    const pages: string[][] = [];
    let answer = await list(user.token, "?pageSize=2");
    for (;;) {
      pages.push(answer.body.result.pageResults.map(({ id }: Item) => id));
      const { nextToken } = answer.body.result;
      if (nextToken === undefined) break;
      answer = await list(user.token, `?pagingToken=${nextToken}`);
    }
    assert.deepEqual(pages, [all.slice(0, 2), all.slice(2, 4), all.slice(4)]);
    const { previousToken } = answer.body.result;
    const back = await list(user.token, `?pagingToken=${previousToken}`);
    assert.deepEqual(back.body.result.pageResults.map(({ id }: Item) => id), all.slice(2, 4)); // biome-ignore format: one line
    const { pageResults } = (await list(user.token, "?pagingToken=2;4")).body.result;
    assert.deepEqual(pageResults.map(({ id }: Item) => id), all.slice(4)); // biome-ignore format: one line

    const stranger = await test.signUp();
    const rule = "pagingToken must be a token of this listing.";
    assertError(
      await list(stranger.token, `?pagingToken=${previousToken}`),
      400,
      "ParameterIncorrectFormat",
      515,
      rule,
    );
    const elsewhere = await test.call(`GET /checkins?pagingToken=${previousToken}`, { token: user.token });
    assertError(elsewhere, 400, "ParameterIncorrectFormat", 515, rule);
  });

  it("shows lastUsed, which advances with every use, immediately in the same process, and never goes back", async () => {
    const user = await test.signUp();
    const second = await logIn(user);
    const usedAt = async () => (await items(user.token)).find(({ current }) => !current)?.lastUsed;
    for (const step of [1, 1, 59_999, 60_000, dayMs]) {
      test.advance(step);
      await test.call("GET /checkins?pageSize=1", { token: second });
      const at = test.now();
      test.advance(7);
      assert.equal(await usedAt(), `/Date(${at})/`);
      assert.equal(await usedAt(), `/Date(${at})/`);
    }
    const before = await usedAt();
    test.advance(-3_600_000);
    await test.call("GET /checkins?pageSize=1", { token: second });
    assert.ok(String(await usedAt()) >= String(before));
    test.advance(3_600_000);
  });

  it("omits tokens that expired, were revoked, or became invalid with a password change", async () => {
    const app = await startTestApp();
    const user = await app.signUp();
    const body = { username: user.userName, password: user.password };
    const logInHere = async () =>
      (await app.call("POST /users/login", { token: user.deviceToken, body })).body.result.accessToken;
    app.advance(10 * dayMs);
    const second = await logInHere();
    const third = await logInHere();
    assert.equal((await items(second, app)).length, 3);
    app.advance(20 * dayMs - 1);
    assert.equal((await items(second, app)).length, 3);
    app.advance(1);
    assert.equal((await items(second, app)).length, 2);
    await app.call("POST /users/me/logout", { token: third });
    assert.deepEqual((await items(second, app)).map(({ current }) => current), [true]); // biome-ignore format: one line
    const fourth = await logInHere();
    await app.call("PATCH /users/me", {
      token: fourth,
      body: { password: "a new one", currentPassword: user.password },
    });
    assert.deepEqual((await items(fourth, app)).map(({ current }) => current), [true]); // biome-ignore format: one line
    await app.close();
  });
});

describe("DELETE /users/me/tokens/{tokenId}: spec/users#list-and-end-tokens", () => {
  it("answers 200 true; every process refuses the token on the very next request, and the other tokens stay valid", async () => {
    const user = await test.signUp();
    const second = await logIn(user);
    const third = await logIn(user);
    for (const app of [test, other]) assert.equal((await items(second, app)).length, 3);
    const id = (await items(second)).find(({ current }) => current)?.id ?? "";
    assertResult(await end(user.token, id, other), 200, true);
    await assertTokenEnded(second);
    assert.deepEqual((await items(third)).some((item) => item.id === id), false); // biome-ignore format: one line
    assertMissing(await end(user.token, id));
    const restarted = await startTestApp({ DATABASE_URL: test.config.databaseUrl });
    assert.equal((await items(third, restarted)).length, 2);
    assert.equal((await list(second, "", restarted)).status, 401);
    await restarted.close();
  });

  it("revokes the current token, but not the device's own", async () => {
    const user = await test.signUp();
    const [{ id } = { id: "" }] = await items(user.token);
    assertResult(await end(user.token, id), 200, true);
    await assertTokenEnded(user.token);
    const body = { username: user.userName, password: user.password };
    assert.equal((await test.call("POST /users/login", { token: user.deviceToken, body })).status, 200);
  });

  it("succeeds for only one of two concurrent requests to revoke one token", async () => {
    const user = await test.signUp();
    await logIn(user);
    const id = (await items(user.token)).find(({ current }) => !current)?.id ?? "";
    const answers = await Promise.all([test, other, test, other].map((app) => end(user.token, id, app)));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 404, 404, 404]);
  });

  it("answers 404 identically for an unknown token and one of another user or application, and 400 for an invalid id", async () => {
    const user = await test.signUp();
    const stranger = await test.signUp();
    const elsewhere = await test.signUp("Elsewhere", await test.createApplication());
    for (const token of [stranger.token, elsewhere.token]) {
      const [{ id } = { id: "" }] = await items(token);
      assertMissing(await end(user.token, id));
      assert.equal((await items(token)).length, 1);
    }
    assertMissing(await end(user.token, test.app.ids.newId("Token")));
    const wrongKind = await end(user.token, user.id);
    assertError(wrongKind, 400, "ParameterOutOfRange", 514, "Incorrect id type, expected Token.");
    for (const id of ["current", "me", "42", "%27", "tok_", user.token.slice(0, 30)]) {
      assertError(await end(user.token, id), 400, "ParameterIncorrectFormat", 515, "tokenId must be an id.");
    }
  });
});

describe("the rows of user tokens", () => {
  it("are deleted by maintenance once expired, not earlier; uses of other tokens are stored", async () => {
    const user = await test.signUp();
    test.advance(29 * dayMs);
    const second = await logIn(user);
    await maintain(test.app);
    assert.equal((await storedTokens(user)).length, 2);
    test.advance(dayMs + 1);
    await test.call("GET /checkins?pageSize=1", { token: second });
    await test.app.tokenUses.save();
    await maintain(test.app);
    const rows = await storedTokens(user);
    assert.deepEqual(rows.map(({ last_used_at }) => last_used_at), [test.now()]); // biome-ignore format: one line
    assert.equal((await items(second)).length, 1);
  });

  it("include the last use after the process that served it has shut down", async () => {
    const user = await test.signUp();
    const leaving = await startTestApp({ DATABASE_URL: test.config.databaseUrl });
    leaving.advance(test.now() - leaving.now() + 12_345);
    assert.equal((await leaving.call("GET /users/me", { token: user.token })).status, 200);
    await leaving.close();
    const [row] = await storedTokens(user);
    assert.equal(row?.last_used_at, leaving.now());
  });
});
