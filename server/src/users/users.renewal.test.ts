import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import {
  type Answer,
  assertError,
  assertResult,
  longSessions,
  startTestApp,
  type TestApp,
  type TestOperator,
  type TestUser,
} from "../../test/harness.ts";
import { maintain } from "../app/maintenance.ts";
import { createTokens, type TokenClaims, type Tokens } from "../auth/tokens.ts";

let test: TestApp;
/** Another process on the same database. */
let other: TestApp;
let operator: TestOperator;
/** Decrypts tokens as the server does. */
let tokens: Tokens;
before(async () => {
  test = await startTestApp(longSessions);
  other = await startTestApp({ DATABASE_URL: test.config.databaseUrl });
  other.advance(test.now() - other.now()); // synchronizes the clocks
  operator = await test.createOperator();
  tokens = createTokens({ ...test.config, secrets: test.config.secrets ?? [] }, test.app.clock, test.app.ids);
});
after(async () => {
  await other.close();
  await test.close();
});

const minuteMs = 60_000;
const dayMs = 86_400_000;
const yearMs = 365 * dayMs;

function advance(ms: number): void {
  for (const app of [test, other]) app.advance(ms);
}

function renew(token: string, app = test, headers = {}): Promise<Answer> {
  return app.call("POST /users/me/tokens", { token, headers });
}

async function successorOf(token: string, app = test): Promise<string> {
  const answer = await renew(token, app);
  assert.equal(answer.status, 201, answer.text);
  return answer.body.result.accessToken;
}

/** Whether a token is valid, by a call that does not reload the user. */
async function isValid(token: string, app = test): Promise<boolean> {
  const { status, body } = await app.call("GET /checkins?pageSize=1", { token });
  if (status !== 200) assert.equal(body.error, "AuthAccessTokenInvalid");
  return status === 200;
}

/** Whether every process accepts each of these tokens. */
async function areValid(...given: string[]): Promise<boolean[]> {
  const found: boolean[] = [];
  for (const token of given) {
    const [here, there] = [await isValid(token), await isValid(token, other)];
    assert.equal(here, there, "all processes agree");
    found.push(here);
  }
  return found;
}

function claimsOf(token: string): TokenClaims {
  const claims = tokens.open(token);
  assert.ok(claims);
  return claims;
}

/** The fields that identify a token. */
function identityOf(token: string): object {
  const { tokenId, renewals } = claimsOf(token);
  return { tokenId, renewals };
}

function timeOf(date: string): number {
  return Number(/\d+/.exec(date)?.[0]);
}

async function configure(settings: object): Promise<void> {
  const answer = await test.call(`PUT /_/api/applications/${test.application.appid}/settings`, {
    token: operator.token,
    body: settings,
  });
  assert.equal(answer.status, 200, answer.text);
}

async function listed(token: string, app = test) {
  const { body } = await app.call("GET /users/me/tokens", { token });
  return body.result.pageResults;
}

describe("POST /users/me/tokens: spec/authentication#renewal", () => {
  it("answers 201 with a token and its expiry; both tokens are one session in the user's list and in the operators'", async () => {
    const user = await test.signUp();
    const [before] = await listed(user.token);
    const signedInAt = test.now();
    advance(10 * dayMs);
    const answer = await renew(user.token);
    const { accessToken } = answer.body.result;
    assertResult(answer, 201, { accessToken, accessTokenExpires: `/Date(${test.now() + 30 * dayMs})/` });
    for (const token of [user.token, accessToken]) {
      const sessions = await listed(token, other);
      assert.equal(sessions.length, 1);
      const { lastUsed, ...session } = sessions[0];
      assert.ok(lastUsed);
      const { id, deviceID, platform } = before;
      const expires = `/Date(${test.now() + 30 * dayMs})/`;
      assert.deepEqual(session, { id, deviceID, platform, created: `/Date(${signedInAt})/`, expires, current: true });
    }
    const operated = await test.call(`GET /_/api/applications/${test.application.appid}/users/${user.id}/tokens`, {
      token: operator.token,
    });
    assert.deepEqual(
      operated.body.result.pageResults.map(({ id }: { id: string }) => id),
      [before.id],
    );
  });

  it("gives 50 concurrent calls in two processes the same successor, and later calls while the token is valid", async () => {
    const user = await test.signUp();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => renew(user.token, index % 2 === 0 ? test : other)),
    );
    advance(dayMs);
    answers.push(await renew(user.token), await renew(user.token, other));
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [201]);
    const results = answers.map(({ body }) => body.result);
    const identities = results.map(({ accessToken }) => JSON.stringify(identityOf(accessToken)));
    assert.equal(new Set(identities).size, 1);
    assert.equal(new Set(results.map(({ accessTokenExpires }) => accessTokenExpires)).size, 1);
    assert.notDeepEqual(identityOf(results[0].accessToken), identityOf(user.token));
    assert.equal((await listed(user.token)).length, 1);
  });

  // spec/authentication#reuse
  it("revokes the session when a superseded token is used again, only if the application says so", async () => {
    await configure({ tokenLifetimes: { endOnReuse: true } });
    const [user, bystander] = [await test.signUp(), await test.signUp()];
    const successor = await successorOf(user.token);
    const next = await successorOf(successor);
    assert.deepEqual(await areValid(user.token, successor, next), [true, true, true]);
    advance(5 * minuteMs);
    assert.deepEqual(await areValid(user.token, next), [true, true], "calls that are on their way end nothing");
    advance(7 * minuteMs);
    assert.ok(await isValid(next), "the reuse ends it, not the time");
    assert.equal(await isValid(user.token, other), false);
    assert.deepEqual(await areValid(next, bystander.token), [false, true]);
    const { body } = await test.call(`GET /_/api/audit?action=endReusedSession`, { token: operator.token });
    assert.deepEqual(
      body.result.pageResults.map(({ target }: { target: string }) => target),
      [user.id],
    );
    await configure({});
    const another = await test.signUp();
    const renewed = await successorOf(another.token);
    assert.ok(await isValid(renewed));
    advance(12 * minuteMs);
    assert.deepEqual(await areValid(another.token, renewed), [false, true], "off by default");
    for (const endOnReuse of ["true", 1, null]) {
      const path = `PUT /_/api/applications/${test.application.appid}/settings`;
      const { status } = await test.call(path, { token: operator.token, body: { tokenLifetimes: { endOnReuse } } });
      assert.equal(status, 400);
    }
  });

  it("keeps the predecessor valid until ten minutes after the first use of its successor, in every process", async () => {
    const user = await test.signUp();
    assert.deepEqual(await areValid(user.token), [true]);
    const successor = await successorOf(user.token);
    advance(dayMs); // the successor is unused
    assert.deepEqual(await areValid(user.token), [true]);
    assert.ok(await isValid(successor));
    for (let minute = 0; minute < 9; minute++) {
      advance(minuteMs);
      assert.deepEqual(await areValid(user.token, successor), [true, true]);
    }
    const again = await successorOf(user.token, other);
    assert.deepEqual(identityOf(again), identityOf(successor));
    advance(2 * minuteMs);
    assert.deepEqual(await areValid(user.token, successor, again), [false, true, true]);
    for (const app of [test, other]) {
      assertError(await renew(user.token, app), 401, "AuthAccessTokenInvalid", 261, "Incorrect token type.");
    }
  });

  it("propagates the first use to every process in time, also after a restart and to a process that has not received the token since", async () => {
    const user = await test.signUp();
    const successor = await successorOf(user.token);
    assert.ok(await isValid(user.token, other)); // after the renewal, before the first use
    advance(minuteMs);
    assert.ok(await isValid(successor));
    advance(11 * minuteMs);
    assert.ok(!(await isValid(user.token, other)));
    const third = await startTestApp({ DATABASE_URL: test.config.databaseUrl });
    third.advance(test.now() - third.now());
    assert.ok(!(await isValid(user.token, third)));
    assert.ok(await isValid(successor, third));
    await third.close();
  });

  it("gives each token of a quickly renewed chain its ten minutes", async () => {
    const user = await test.signUp();
    const second = await successorOf(user.token);
    const third = await successorOf(second); // its first use
    advance(4 * minuteMs);
    assert.ok(await isValid(third));
    assert.deepEqual(identityOf(await successorOf(user.token)), identityOf(second));
    advance(7 * minuteMs);
    assert.deepEqual(await areValid(user.token, second, third), [false, true, true]);
    advance(4 * minuteMs);
    assert.deepEqual(await areValid(user.token, second, third), [false, false, true]);
  });

  it("continues a session after its first token would have expired", async () => {
    const user = await test.signUp();
    let token = user.token;
    for (let renewals = 0; renewals < 5; renewals++) {
      advance(20 * dayMs);
      await maintain(test.app);
      token = await successorOf(token, renewals % 2 === 0 ? test : other);
    }
    assert.deepEqual(await areValid(token, user.token), [true, false]);
    advance(31 * dayMs);
    await maintain(test.app);
    assert.deepEqual(await areValid(token), [false]);
  });

  it("returns a token of the same device and application key, with the same versions", async () => {
    const user = await test.signUp();
    const { issuedAt, tokenExpiresAt, ...before } = claimsOf(user.token);
    assert.equal(tokenExpiresAt - issuedAt, 30 * dayMs);
    advance(minuteMs);
    const renewed = claimsOf(await successorOf(user.token));
    const times = { issuedAt: test.now(), tokenExpiresAt: test.now() + 30 * dayMs };
    assert.deepEqual(renewed, { ...before, ...times, renewals: 1 });
  });

  it("accepts an idempotency key, and works in a batch", async () => {
    const user = await test.signUp();
    const headers = { "Idempotency-Key": "renewal" };
    const [first, repeated] = [await renew(user.token, test, headers), await renew(user.token, other, headers)];
    assert.deepEqual([repeated.status, repeated.body.result], [201, first.body.result]);
    const requests = [
      { key: "renew", method: "POST", path: "/users/me/tokens" },
      { key: "read", method: "GET", path: "/users/me" },
    ];
    for (const mode of ["independent", "atomic"]) {
      const { body } = await test.call("POST /batch", { token: user.token, body: { mode, requests } });
      const [renewed, read] = body.result.responses;
      assert.deepEqual([renewed.status, read.status], [201, 200]);
      assert.deepEqual(identityOf(renewed.result.accessToken), identityOf(first.body.result.accessToken));
    }
  });

  it("answers AuthUserAccessTokenRequired for a device token, AuthAccessTokenInvalid for an invalid one, and AuthUserAccountDisabled for a disabled user", async () => {
    const user = await test.signUp();
    const device = await renew(user.deviceToken);
    assert.deepEqual([device.status, device.body.error], [403, "AuthUserAccessTokenRequired"]);
    const users = `/_/api/applications/${test.application.appid}/users/${user.id}`;
    const successor = await successorOf(user.token);
    await test.call(`POST ${users}/disable`, { token: operator.token });
    for (const token of [user.token, successor]) {
      const { status, body } = await renew(token, other);
      assert.deepEqual([status, body.error], [403, "AuthUserAccountDisabled"]);
    }
    await test.call(`POST ${users}/enable`, { token: operator.token });
    assert.deepEqual(await areValid(user.token, successor), [true, true]);
    advance(31 * dayMs);
    assertError(await renew(user.token), 401, "AuthAccessTokenInvalid", 261, "Incorrect token type.");
  });
});

describe("the length of a session: spec/authentication#length-of-a-session", () => {
  after(() => configure({}));

  it("is a year after the login by default, when every successor expires", async () => {
    const user = await test.signUp();
    const signedInAt = test.now();
    let token = user.token;
    for (let renewals = 0; renewals < 14; renewals++) {
      advance(25 * dayMs);
      token = await successorOf(token);
    }
    const last = await renew(token);
    assert.equal(timeOf(last.body.result.accessTokenExpires), signedInAt + yearMs);
    advance(15 * dayMs);
    assert.deepEqual(await areValid(last.body.result.accessToken), [false]);
  });

  it("is set by tokenLifetimes, as is the lifetime of successors", async () => {
    await configure({ tokenLifetimes: { userMs: 2 * dayMs, sessionMs: 3 * dayMs } });
    const user = await test.signUp();
    const signedInAt = test.now();
    advance(dayMs / 2);
    const first = await renew(user.token);
    assert.equal(timeOf(first.body.result.accessTokenExpires), test.now() + 2 * dayMs);
    advance(dayMs);
    const second = await renew(first.body.result.accessToken);
    assert.equal(timeOf(second.body.result.accessTokenExpires), signedInAt + 3 * dayMs);
    await configure({ tokenLifetimes: { sessionMs: minuteMs } });
    const { status, body } = await renew(second.body.result.accessToken);
    assert.deepEqual([status, body.error], [403, "AuthAPICallDisabledByDeveloper"]);
    assert.deepEqual(await areValid(second.body.result.accessToken), [true]); // until its own expiry
  });

  it("allows no renewals if it is 0, and is refused if it is another value below a minute", async () => {
    await configure({ tokenLifetimes: { sessionMs: 0 } });
    const user = await test.signUp();
    const { status, body } = await renew(user.token);
    assert.deepEqual([status, body.error], [403, "AuthAPICallDisabledByDeveloper"]);
    for (const sessionMs of [1, 59_999, -1, 315_360_000_001, "0", 1.5]) {
      const answer = await test.call(`PATCH /_/api/applications/${test.application.appid}/settings`, {
        token: operator.token,
        body: { tokenLifetimes: { sessionMs } },
      });
      assert.equal(answer.status, 400);
      assert.match(answer.body.message, /sessionMs must be 0 or an integer from 60000 to 315360000000/);
    }
  });

  it("shortened later, revokes no token early and lets no successor live longer", async () => {
    await configure({});
    const user = await test.signUp();
    const first = await successorOf(user.token);
    await configure({ tokenLifetimes: { userMs: dayMs } });
    advance(minuteMs);
    const again = await renew(user.token);
    assert.equal(timeOf(again.body.result.accessTokenExpires), test.now() + dayMs);
    advance(2 * dayMs);
    await maintain(test.app);
    assert.deepEqual(await areValid(first, again.body.result.accessToken), [true, false]);
    await configure({});
  });
});

/** Revokes the session of a token, or all sessions of its user. */
interface Ending {
  readonly what: string;
  /** Whether the given token selects the session. */
  readonly isByToken?: boolean;
  end(user: TestUser, token: string): Promise<Answer>;
}

function operate(operation: string, body: unknown = {}): Promise<Answer> {
  const [method, path] = operation.split(" ");
  return test.call(`${method} /_/api/applications/${test.application.appid}${path}`, { token: operator.token, body });
}

const endings: readonly Ending[] = [
  { what: "logout", isByToken: true, end: (_, token) => test.call("POST /users/me/logout", { token }) },
  {
    what: "ending the session by its id",
    isByToken: true,
    end: (_, token) => test.call(`DELETE /users/me/tokens/${claimsOf(token).tokenId}`, { token }),
  },
  {
    what: "an operator's ending the session",
    end: ({ id }, token) => operate(`DELETE /users/${id}/tokens/${claimsOf(token).tokenId}`),
  },
  { what: "an operator's ending all sessions", end: ({ id }) => operate(`POST /users/${id}/revoke-tokens`) },
  { what: "deletion of the user", end: (_, token) => test.call("DELETE /users/me", { token }) },
  {
    what: "another session's change of the password",
    async end({ userName, password, deviceToken: token }) {
      const body = { username: userName, password };
      const { body: login } = await test.call("POST /users/login", { token, body });
      return test.call("PATCH /users/me", {
        token: login.result.accessToken,
        body: { currentPassword: password, password: "another one" },
      });
    },
  },
  {
    what: "revocation of the device's tokens",
    end: (_, token) => operate(`POST /devices/${claimsOf(token).deviceId}/revoke-tokens`),
  },
  {
    what: "revocation of the key's tokens",
    end: (_, token) => operate(`POST /keys/${claimsOf(token).applicationKeyId}/revoke-tokens`),
  },
  { what: "revocation of the application's tokens", end: () => operate("POST /revoke-tokens") },
];

describe("revoking a session: spec/authentication#renewal", () => {
  for (const { what, isByToken, end } of endings) {
    it(`invalidates all of its tokens, whichever is used: ${what}`, async () => {
      for (const endsByOlder of isByToken ? [true, false] : [true]) {
        const user = await test.signUp();
        const successor = await successorOf(user.token);
        assert.deepEqual(await areValid(user.token, successor), [true, true]);
        const ended = await end(user, endsByOlder ? user.token : successor);
        assert.equal(ended.status, 200, ended.text);
        assert.deepEqual(await areValid(user.token, successor), [false, false]);
        assert.equal((await renew(successor, other)).status, 401);
      }
    });

    it(`invalidates tokens whose renewal is in progress: ${what}`, async () => {
      const user = await test.signUp();
      const renewals = Array.from({ length: 6 }, (_, index) => renew(user.token, index % 2 === 0 ? test : other));
      const [ended, ...answers] = await Promise.all([end(user, user.token), ...renewals]);
      assert.equal(ended.status, 200, ended.text);
      for (const { status, body } of answers) {
        if (status === 201) assert.deepEqual(await areValid(body.result.accessToken), [false]);
        else assert.equal(body.error, "AuthAccessTokenInvalid");
      }
      assert.deepEqual(await areValid(user.token), [false]);
    });
  }

  it("does not happen when one of its own tokens changes the password", async () => {
    const user = await test.signUp();
    const successor = await successorOf(user.token);
    const body = { currentPassword: user.password, password: "another one" };
    const answers = await Promise.all([
      test.call("PATCH /users/me", { token: user.token, body }),
      renew(successor),
      renew(user.token, other),
    ]);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 201, 201],
    );
    const issued = answers.slice(1).map(({ body: { result } }) => result.accessToken);
    assert.deepEqual(await areValid(user.token, successor, ...issued), [true, true, true, true]);
  });
});
