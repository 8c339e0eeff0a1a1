import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import {
  type Answer,
  assertError,
  assertResult,
  startTestApp,
  type TestApp,
  type TestOperator,
} from "../../test/harness.ts";
import { maintain } from "../app/maintenance.ts";
import { digestSecret } from "../lib/secrets.ts";

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

const hourMs = 3_600_000;

function signIn(name: unknown, password: unknown, app = test): Promise<Answer> {
  return app.call("POST /_/api/sessions", { body: { name, password } });
}

async function tokenOf({ name, password }: { readonly name: string; readonly password: string }): Promise<string> {
  const { status, body } = await signIn(name, password);
  assert.equal(status, 201);
  return body.result.token;
}

async function isAlive(token: string, app = test): Promise<boolean> {
  const answer = await app.call("GET /_/api/operators/me", { token });
  if (answer.status === 200) return true;
  assertError(answer, 401, "AuthFailed", 256, "An operator token is required.");
  return false;
}

function sessionsOf({ id }: Pick<TestOperator, "id">) {
  const { reads } = test.app.database;
  return reads.selectFrom("operator_sessions").selectAll().where("operator_id", "=", id).execute();
}

async function storedHash({ id }: Pick<TestOperator, "id">): Promise<string> {
  const { reads } = test.app.database;
  const row = await reads.selectFrom("operators").selectAll().where("id", "=", id).executeTakeFirstOrThrow();
  return row.password_hash;
}

function median(numbers: number[]): number {
  return numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}

// spec/operators#operator-sign-in
describe("POST /_/api/sessions", () => {
  it("answers 201 with a token, its expiry and the operator; the password and the token are stored only as digests", async () => {
    const operator = await test.createOperator("Ada", "editor");
    const answer = await signIn("Ada", operator.password);
    const { token } = answer.body.result;
    assert.match(token, /^ro_[\w-]{86}$/);
    assertResult(answer, 201, {
      token,
      expires: `/Date(${test.now() + 7 * 24 * hourMs})/`,
      idleMs: 12 * hourMs,
      operator: {
        id: operator.id,
        name: "Ada",
        role: "editor",
        isPasswordSet: true,
        created: `/Date(${test.now()})/`,
        lastLogin: `/Date(${test.now()})/`,
      },
    });
    assert.ok((await isAlive(token)) && (await isAlive(token, other)));
    assert.match(await storedHash(operator), /^\$argon2id\$/);
    const sessions = await sessionsOf(operator);
    assert.ok(sessions.some(({ digest }) => digest === digestSecret(token)));
    assert.ok(!JSON.stringify([sessions, test.logLines]).includes(token.slice(3)));
    assert.ok(!JSON.stringify(test.logLines).includes(operator.password));
  });

  it("matches a name in any Unicode composition and with surrounding blanks", async () => {
    const { password } = await test.createOperator("Ådä".normalize("NFC"));
    assert.equal((await signIn(" Ådä ".normalize("NFD"), password)).status, 201);
    assert.equal((await signIn("ådä", password)).status, 401);
  });

  it("answers 401 AuthFailed identically for an unknown name and a wrong password (hostile.md 6)", async () => {
    const { name, password } = await test.createOperator("Known");
    const withoutPassword = await test.createOperator("No password");
    await test.app.database.write(({ queries }) =>
      queries.updateTable("operators").set({ password_hash: "" }).where("id", "=", withoutPassword.id).execute(),
    );
    const tries: [unknown, unknown][] = [
      [name, "wrong"],
      [name, ""],
      [name, `${password} `],
      [name, password.toUpperCase()],
      [name, 0],
      ["No password", ""],
      ["No password", withoutPassword.password],
      ["Unknown", password],
      ["Unknown", ""],
      ["%", password],
      ["Know_", password],
      ["' or ''='", password],
      ["a\nb", password],
      ["😀".repeat(300), password],
      ["__proto__", "constructor"],
      [(await test.createOperator()).id, password],
    ];
    for (const [given, word] of tries)
      assertError(await signIn(given, word), 401, "AuthFailed", 256, "The name or the password is wrong.");
  });

  it("hashes as much for an unknown name as for a wrong password (hostile.md 6)", async (t) => {
    const app = await startTestApp({ PASSWORD_HASH_MEMORY_KIB: "16384", PASSWORD_HASH_PASSES: "2" });
    t.after(() => app.close());
    const { name } = await app.createOperator();
    const times = { known: [] as number[], unknown: [] as number[] };
    for (let n = 0; n < 7; n += 1) {
      for (const [kind, given] of [["known", name] as const, ["unknown", "Nobody"] as const]) {
        const before = process.cpuUsage();
        assert.equal((await signIn(given, "wrong", app)).status, 401);
        const { user, system } = process.cpuUsage(before);
        times[kind].push(user + system);
      }
    }
    // Compares processor time with a wide margin: without the hash an unknown name would cost a tenth.
    const ratio = median(times.unknown) / median(times.known);
    assert.ok(ratio > 0.6 && ratio < 1.6, `unknown costs ${ratio} of known`);
  });

  it("accepts an old hash after the cost of hashes was raised, and replaces it at the next login (hostile.md 10)", async (t) => {
    const operator = await test.createOperator();
    const settings = { DATABASE_URL: test.config.databaseUrl, PASSWORD_HASH_PASSES: "2" };
    const dearer = await startTestApp(settings);
    t.after(() => dearer.close());
    const before = await storedHash(operator);
    assert.equal((await signIn(operator.name, operator.password, dearer)).status, 201);
    const afterwards = await storedHash(operator);
    assert.ok(before.includes(",t=1,") && afterwards.includes(",t=2,"), afterwards);
    assert.equal((await signIn(operator.name, operator.password)).status, 201);
  });

  it("succeeds for several concurrent logins with an old hash", async (t) => {
    const operator = await test.createOperator();
    const settings = { DATABASE_URL: test.config.databaseUrl, PASSWORD_HASH_PASSES: "2" };
    const dearer = await startTestApp(settings);
    t.after(() => dearer.close());
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => signIn(operator.name, operator.password, dearer)),
    );
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201]));
  });

  it("is refused in a batch, as are all operator operations (hostile.md 28)", async () => {
    const { name, password, token } = await test.createOperator();
    const { token: userToken } = await test.signUp();
    const requests = [
      { method: "POST", path: "/_/api/sessions", parameters: { name, password } },
      { method: "GET", path: "/_/api/operators/me" },
      { method: "POST", path: "/_/api/operators", parameters: { name: "x", role: "owner" } },
    ];
    const answer = await test.call("POST /batch", { token: userToken, body: { requests } });
    assert.equal(answer.status, 200, answer.text);
    assert.ok(!answer.text.includes('"ro_'));
    const { responses } = answer.body.result;
    assert.deepEqual(
      responses.map(({ error }: { error: string }) => error),
      ["OperationNotFound", "AuthFailed", "AuthFailed"],
    );
    const byOperator = await test.call("POST /batch", { token, body: { requests } });
    assertError(byOperator, 401, "AuthAccessTokenInvalid", 261, "Incorrect token type.");
  });
});

// spec/operators#session-lifetime
describe("a session", () => {
  it("expires when it has not been used for OPERATOR_IDLE_MS, not earlier", async () => {
    const token = await tokenOf(await test.createOperator());
    for (let hours = 0; hours < 40; hours += 10) {
      test.advance(10 * hourMs);
      assert.ok(await isAlive(token), "it is used");
      await settled(token);
    }
    test.advance(12 * hourMs);
    assert.ok(!(await isAlive(token)));
    test.advance(-hourMs);
    assert.ok(!(await isAlive(token)), "a clock that steps back revives no session");
    test.advance(hourMs);
  });

  it("expires after OPERATOR_SESSION_MS despite continuous use", async () => {
    const token = await tokenOf(await test.createOperator());
    for (let hours = 0; hours < 160; hours += 10) {
      test.advance(10 * hourMs);
      assert.ok(await isAlive(token));
      await settled(token);
    }
    test.advance(7 * hourMs);
    assert.ok(await isAlive(token));
    test.advance(hourMs);
    assert.ok(!(await isAlive(token)));
  });

  it("is written at most once a minute despite continuous use", async () => {
    const operator = await test.createOperator();
    const token = await tokenOf(operator);
    const startedAt = test.now();
    const usedAt = async () =>
      (await sessionsOf(operator)).find(({ digest }) => digest === digestSecret(token))?.used_at;
    test.advance(59_999);
    await isAlive(token);
    await settled(token);
    assert.equal(await usedAt(), startedAt);
    test.advance(1);
    await isAlive(token);
    await settled(token);
    assert.equal(await usedAt(), startedAt + 60_000);
  });

  it("is deleted by maintenance once it has expired; valid sessions are not", async () => {
    const [used, idle] = [await test.createOperator(), await test.createOperator()];
    const token = await tokenOf(used);
    for (let days = 0; days < 3; days += 1) {
      test.advance(11 * hourMs);
      await isAlive(token);
      await settled(token);
    }
    await maintain(test.app);
    assert.equal((await sessionsOf(idle)).length, 0);
    assert.deepEqual(
      (await sessionsOf(used)).map(({ digest }) => digest),
      [digestSecret(token)],
    );
    assert.ok(await isAlive(token));
  });

  it("is the only one that DELETE /_/api/sessions/current revokes, immediately in every process, for every role", async () => {
    for (const role of ["viewer", "editor", "owner"] as const) {
      const operator = await test.createOperator(undefined, role);
      const token = await tokenOf(operator);
      assert.ok((await isAlive(token)) && (await isAlive(token, other)));
      assertResult(await test.call("DELETE /_/api/sessions/current", { token }), 200, true);
      assert.ok(!(await isAlive(token, other)) && !(await isAlive(token)));
      assert.ok(await isAlive(operator.token));
    }
  });

  /** Waits until the last use is stored, which happens after the response. */
  async function settled(token: string): Promise<void> {
    const digest = digestSecret(token);
    for (let tries = 0; tries < 200; tries += 1) {
      const { reads } = test.app.database;
      const row = await reads
        .selectFrom("operator_sessions")
        .select("used_at")
        .where("digest", "=", digest)
        .executeTakeFirst();
      if (row === undefined || test.now() - row.used_at < 60_000) return;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    assert.fail("the use of the session was not written down");
  }
});

describe("PATCH /_/api/operators/me", () => {
  const fresh = "an entirely new one";

  it("sets a new password for every role: the other sessions are revoked, this one stays valid, and the old password is wrong", async () => {
    for (const role of ["viewer", "editor", "owner"] as const) {
      const operator = await test.createOperator(undefined, role);
      const { id, name, password } = operator;
      const [token, another] = [await tokenOf(operator), await tokenOf(operator)];
      const body = { password: fresh, currentPassword: password };
      const answer = await test.call("PATCH /_/api/operators/me", { token, body });
      const [created, lastLogin] = [`/Date(${test.now()})/`, `/Date(${test.now()})/`];
      assertResult(answer, 200, { id, name, role, isPasswordSet: true, created, lastLogin });
      for (const app of [other, test]) {
        assert.ok(await isAlive(token, app));
        for (const dead of [another, operator.token]) assert.ok(!(await isAlive(dead, app)));
      }
      assert.equal((await signIn(name, password)).status, 401);
      assert.equal((await signIn(name, fresh)).status, 201);
    }
  });

  it("answers 403 for a wrong current password, 400 without one or with a new one that is too short, and changes nothing", async () => {
    const operator = await test.createOperator();
    const { name, password, token } = operator;
    const change = (body: object) => test.call("PATCH /_/api/operators/me", { token, body });
    for (const currentPassword of ["wrong", "", fresh]) {
      assertError(await change({ password: fresh, currentPassword }), 403, "AuthBadUsernameOrPassword", 262);
    }
    const missing = await change({ password: fresh });
    assertError(missing, 400, "ParameterMissingRequiredValue", 513, "currentPassword is required.");
    const short = await change({ password: "eleven char", currentPassword: password });
    assertError(short, 400, "ParameterOutOfRange", 514, "password must have at least 12 characters.");
    assert.equal((await signIn(name, password)).status, 201);
    assert.ok(await isAlive(token));
  });

  it("is not affected by concurrent logins that rehash the old password (hostile.md 10)", async (t) => {
    const dearer = await startTestApp({ DATABASE_URL: test.config.databaseUrl, PASSWORD_HASH_PASSES: "2" });
    t.after(() => dearer.close());
    for (let round = 0; round < 5; round += 1) {
      const { name, password, token } = await test.createOperator();
      const body = { password: fresh, currentPassword: password };
      const [, changed] = await Promise.all([
        signIn(name, password, dearer),
        dearer.call("PATCH /_/api/operators/me", { token, body }),
      ]);
      assert.equal(changed.status, 200, changed.text);
      assert.equal((await signIn(name, fresh)).status, 201);
    }
  });

  it("succeeds for only one of several concurrent changes with the same current password", async () => {
    const operator = await test.createOperator();
    const answers = await Promise.all(
      [0, 1, 2, 3].map((n) =>
        [test, other][n % 2]?.call("PATCH /_/api/operators/me", {
          token: operator.token,
          body: { password: `${fresh} ${n}`, currentPassword: operator.password },
        }),
      ),
    );
    const winners = answers.flatMap((answer, n) => (answer?.status === 200 ? [n] : []));
    assert.equal(winners.length, 1, JSON.stringify(answers.map((answer) => answer?.body)));
    assert.equal((await signIn(operator.name, `${fresh} ${winners[0]}`)).status, 201);
  });
});
