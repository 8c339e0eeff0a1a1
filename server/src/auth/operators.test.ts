import assert from "node:assert/strict";
import { after, before, describe, it, type TestContext } from "node:test";
import { sql } from "kysely";
import { type Answer, assertError, send, startTestApp, type TestApp, type TestOperator } from "../../test/harness.ts";
import { createOperatorTokens } from "./operator-tokens.ts";

let test: TestApp;
/** Another process on the same database. */
let other: TestApp;
before(async () => {
  test = await startTestApp();
  other = await startPeer();
});
after(async () => {
  await other.close();
  await test.close();
});

function startPeer(settings: Record<string, string> = {}): Promise<TestApp> {
  return startTestApp({ DATABASE_URL: test.config.databaseUrl, ...settings });
}

async function start(t: TestContext, settings: Record<string, string> = {}): Promise<TestApp> {
  const app = await startTestApp(settings);
  t.after(() => app.close());
  return app;
}

function assertNoOperator(answer: Answer, what = answer.text): void {
  assert.equal(answer.status, 401, what);
  assertError(answer, 401, "AuthFailed", 256, "An operator token is required.");
}

function me(token: string, app = test): Promise<Answer> {
  return app.call("GET /_/api/operators/me", { token });
}

function turned(text: string, index: number): string {
  return text.slice(0, index) + (text[index] === "A" ? "B" : "A") + text.slice(index + 1);
}

describe("refusals of operators' tokens that cost no lookup (hostile.md 1)", () => {
  it("forged, truncated, extended, changed and foreign tokens are refused without the database", async (t) => {
    const app = await start(t);
    const region = "eu";
    const secrets = ["a secret of somebody else"];
    const { token } = await app.createOperator();
    const another = app.app.operatorTokens.issue();
    // From here on every lookup of a session fails.
    await app.app.database.write(({ queries }) => sql`alter table operator_sessions rename to away`.execute(queries));

    const read = (given: string) => send(app.port, "GET", "/_/api/operators/me", { token: given });
    assert.equal((await read(token)).status, 500);
    for (const [what, forged] of Object.entries({
      "no token": "garbage",
      "the prefix alone": "ro_",
      "well formed": `ro_${"A".repeat(86)}`,
      "without a signature": token.slice(0, 46),
      "with the signature of another": token.slice(0, 46) + another.slice(46),
      "of another secret": createOperatorTokens({ region: app.config.region, secrets }).issue(),
      "of another region": createOperatorTokens({ region, secrets: app.config.secrets ?? [] }).issue(),
      truncated: token.slice(0, -1),
      extended: `${token}A`,
      "in capitals": token.toUpperCase(),
    }))
      assertNoOperator(await read(forged), what);
    for (let index = 0; index < token.length; index += 5)
      assertNoOperator(await read(turned(token, index)), `${index}`);
    assertNoOperator(await read(turned(token, token.length - 1)), "the last one");
  });

  it("tokens stay valid after a rotation of ROLLCALL_SECRET, until the old secret is removed", async (t) => {
    const { token } = await test.createOperator();
    const [old] = test.config.secrets ?? [];
    const rotated = await startPeer({ ROLLCALL_SECRET: `a secret that is entirely new,${old}` });
    t.after(() => rotated.close());
    const afterwards = await startPeer({ ROLLCALL_SECRET: "a secret that is entirely new" });
    t.after(() => afterwards.close());
    assert.equal((await me(token, rotated)).status, 200);
    assertNoOperator(await me(token, afterwards));
    assert.equal((await me(rotated.app.operatorTokens.issue())).status, 401, "made under the new one");
  });
});

type End = (operator: TestOperator) => Promise<Answer>;

const endings: Readonly<Record<string, End>> = {
  logout: ({ token }) => other.call("DELETE /_/api/sessions/current", { token }),
  "deletion of the operator": async ({ id }) =>
    other.call(`DELETE /_/api/operators/${id}`, { token: (await test.createOperator()).token }),
  "a new password by another owner": async ({ id }) =>
    other.call(`PATCH /_/api/operators/${id}`, {
      token: (await test.createOperator()).token,
      body: { password: "an entirely new one" },
    }),
  "a new password of its own, in another session": async ({ name, password }) => {
    const { body } = await other.call("POST /_/api/sessions", { body: { name, password } });
    return other.call("PATCH /_/api/operators/me", {
      token: body.result.token,
      body: { password: "an entirely new one", currentPassword: password },
    });
  },
};

describe("a revoked or expired operator's token: hostile.md 2", () => {
  for (const [what, end] of Object.entries(endings)) {
    it(`is refused by every process on its next request, and after a restart: revoked by ${what}`, async (t) => {
      const [operator, bystander] = [await test.createOperator(), await test.createOperator()];
      for (const app of [test, other]) assert.equal((await me(operator.token, app)).status, 200);
      assert.equal((await end(operator)).status, 200);
      const restarted = await startPeer();
      t.after(() => restarted.close());
      for (const app of [test, other, restarted]) {
        assertNoOperator(await me(operator.token, app));
        assert.equal((await me(bystander.token, app)).status, 200);
      }
    });
  }

  it("is refused by every process from the exact millisecond of its expiry, even right after its use (3)", async (t) => {
    const app = await start(t, { OPERATOR_SESSION_MS: "600000" });
    const second = await start(t, { OPERATOR_SESSION_MS: "600000", DATABASE_URL: app.config.databaseUrl });
    const { token } = await app.createOperator();
    const apart = app.now() - second.now();
    for (const each of [app, second]) each.advance(600_000 - 1);
    second.advance(apart); // two processes start at different times
    for (const each of [app, second]) assert.equal((await me(token, each)).status, 200);
    for (const each of [app, second]) each.advance(1);
    for (const each of [app, second]) assertNoOperator(await me(token, each));
    app.advance(-3_600_000);
    assertNoOperator(await me(token, app), "the clock steps back");
  });
});

describe("fields that operators may not set: hostile.md 9", () => {
  it("an operator cannot raise its own role, through its profile or at sign-in", async () => {
    const viewer = await test.createOperator(undefined, "viewer");
    const { id, name, password, token } = viewer;
    const forged = { role: "owner", id: "x", operatorId: "x", created: 0, lastLogin: 0, isNew: true, tokens: [] };
    const signedIn = await test.call("POST /_/api/sessions", { body: { name, password, ...forged, idleMs: 1e12 } });
    const { idleMs, operator } = signedIn.body.result;
    assert.deepEqual([operator.id, operator.role, idleMs], [id, "viewer", test.config.operatorIdleMs]);
    const body = { password: "an entirely new one", currentPassword: password, ...forged };
    const { result } = (await test.call("PATCH /_/api/operators/me", { token, body })).body;
    assert.deepEqual([result.id, result.role, result.created], [id, "viewer", operator.created]);
    assert.equal((await me(token)).body.result.role, "viewer");
  });
});

describe("idempotency keys and operators: hostile.md 14", () => {
  it("operator operations ignore idempotency keys, so that no operator receives an answer or password of another", async () => {
    const [one, another] = [await test.createOperator(), await test.createOperator()];
    const body = { name: "Made once", role: "viewer" };
    const create = ({ token }: TestOperator, app = test) =>
      app.call("POST /_/api/operators", { token, body, headers: { "idempotency-key": "the same" } });
    const made = await create(one);
    assert.equal(made.status, 201);
    for (const repeat of [await create(one), await create(another), await create(another, other)]) {
      assertError(repeat, 400, "ItemAlreadyExists", 770, "The value is already in use. Choose a unique one.");
      assert.ok(!repeat.text.includes(made.body.result.password));
    }
    const rows = await test.app.database.reads.selectFrom("kept_replies").selectAll().execute();
    assert.equal(rows.length, 0);
    const { name, password } = one;
    const signIn = (given: string) =>
      test.call("POST /_/api/sessions", { body: { name, password: given }, headers: { "idempotency-key": "sign-in" } });
    assert.equal((await signIn(password)).status, 201);
    assert.notEqual((await signIn("wrong")).status, 201);
  });
});

describe("POST /_/api/sessions when passwords are guessed: hostile.md 7", () => {
  let app: TestApp;
  before(async () => {
    app = await startTestApp({ TRUST_PROXY: "loopback" });
  });
  after(() => app.close());

  function signIn(name: string, password: string, address: string): Promise<Answer> {
    return app.call("POST /_/api/sessions", { body: { name, password }, headers: { "x-forwarded-for": address } });
  }

  function count(answers: readonly Answer[], status: number): number {
    return answers.filter((answer) => answer.status === status).length;
  }

  it("checks ten of fifty concurrent guesses, and affects no sessions, other addresses, other operators or users", async () => {
    const [operator, other] = [await app.createOperator(), await app.createOperator()];
    const user = await app.signUp();
    const guesses = await Promise.all(Array.from({ length: 50 }, () => signIn(operator.name, "wrong", "6.6.6.6")));
    assert.deepEqual([count(guesses, 201), count(guesses, 429)], [0, 40]);
    const right = await signIn(operator.name, operator.password, "6.6.6.6");
    const message = "Too many wrong passwords. Try again after the time that Retry-After names.";
    assertError(right, 429, "RateLimitExceeded", 1282, message);
    assert.equal(right.headers["retry-after"], "1");

    assert.equal((await me(operator.token, app)).status, 200);
    assert.equal((await signIn(operator.name, operator.password, "10.0.0.1")).status, 201);
    assert.equal((await signIn(other.name, other.password, "6.6.6.6")).status, 201);
    const body = { username: user.userName, password: user.password };
    const headers = { "x-forwarded-for": "6.6.6.6" };
    assert.equal((await app.call("POST /users/login", { token: user.deviceToken, body, headers })).status, 200);
    app.advance(1_000);
    assert.equal((await signIn(operator.name, operator.password, "6.6.6.6")).status, 201);
  });

  it("slows down an address that guesses for many names, and no other address", async () => {
    const operator = await app.createOperator();
    const guesses = await Promise.all(Array.from({ length: 150 }, (_, n) => signIn(`nobody ${n}`, "wrong", "7.7.7.7")));
    assert.equal(count(guesses, 201), 0);
    assert.ok(count(guesses, 429) >= 50);
    assert.equal((await signIn(operator.name, operator.password, "7.7.7.7")).status, 429);
    assert.equal((await signIn(operator.name, operator.password, "10.0.0.1")).status, 201);
    assert.equal((await me(operator.token, app)).status, 200);
  });

  it("slows down guesses by the holder of a token too, which stays valid", async () => {
    const { token, password } = await app.createOperator();
    const change = (currentPassword: string) =>
      app.call("PATCH /_/api/operators/me", { token, body: { password: "an entirely new one", currentPassword } });
    const guesses = await Promise.all(Array.from({ length: 30 }, () => change("wrong")));
    assert.deepEqual([count(guesses, 403), count(guesses, 429)], [10, 20]);
    assert.equal((await change(password)).status, 429);
    assert.equal((await me(token, app)).status, 200);
  });
});
