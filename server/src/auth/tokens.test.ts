import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { assertError, startTestApp, type TestApp } from "../../test/harness.ts";
import { createIdGenerator } from "../lib/ids.ts";
import { createSealer } from "../lib/seal.ts";
import { createTokens, type Tokens } from "./tokens.ts";

const dayMs = 86_400_000;
const now = Date.UTC(2026, 10, 21);
const ids = createIdGenerator(() => now);
const device = {
  applicationId: ids.newId("App"),
  applicationKeyId: ids.newId("ApplicationKey"),
  deviceId: ids.newId("Device"),
  versions: { application: 1, key: 2, device: 3 },
};
const policy = { tokenLifetimes: {} };

function tokensOf({ secrets = ["the first secret of all"], region = "main" } = {}): Tokens {
  const lifetimes = { deviceTokenLifetimeMs: 90 * dayMs, userTokenLifetimeMs: 30 * dayMs };
  return createTokens({ secrets, region, ...lifetimes }, { now: () => now }, ids);
}

describe("tokens: spec/authentication#tokens", () => {
  it("contain the values they were issued with: application, key, device, versions, issue and expiry time, id", () => {
    const tokens = tokensOf();
    const { accessToken, accessTokenExpires } = tokens.issueDeviceToken({ ...device, policy });
    const { tokenId, ...claims } = tokens.open(accessToken) ?? {};
    assert.match(`${tokenId}`, /^tok_/);
    assert.equal(accessTokenExpires, `/Date(${now + 90 * dayMs})/`);
    const times = { issuedAt: now, tokenExpiresAt: now + 90 * dayMs };
    assert.deepEqual(claims, { ...device, userId: undefined, ...times });
  });

  it("contain the user if they are user tokens", () => {
    const tokens = tokensOf();
    const id = ids.newId("User");
    const { token, row } = tokens.issueUserToken({ ...device, policy }, { id, tokenVersion: 4 });
    const { accessToken, accessTokenExpires } = token;
    const { tokenId, ...claims } = tokens.open(accessToken) ?? {};
    assert.match(`${tokenId}`, /^tok_/);
    assert.equal(accessTokenExpires, `/Date(${now + 30 * dayMs})/`);
    const times = { issuedAt: now, tokenExpiresAt: now + 30 * dayMs };
    assert.deepEqual(claims, { ...device, userId: id, ...times });
    assert.deepEqual(row, {
      application_id: device.applicationId,
      user_id: id,
      id: tokenId,
      device_id: device.deviceId,
      user_version: 4,
      created_at: now,
      last_used_at: now,
      expires_at: now + 30 * dayMs,
    });
  });

  it("consist of letters, digits, -, _ and one dot, and reveal nothing of their contents", () => {
    const { accessToken } = tokensOf().issueUserToken(
      { ...device, policy },
      { id: ids.newId("User"), tokenVersion: 0 },
    ).token;
    assert.match(accessToken, /^main\.[\w-]+$/);
    const inside = Buffer.from(accessToken.slice("main.".length), "base64url").toString("latin1");
    for (const id of [device.applicationId, device.deviceId, "usr_", "app_"]) assert.ok(!inside.includes(id));
  });

  it("are never issued twice", () => {
    const tokens = tokensOf();
    const made = Array.from({ length: 1_000 }, () => tokens.issueDeviceToken({ ...device, policy }).accessToken);
    assert.equal(new Set(made).size, made.length);
  });
});

describe("tokens that were tampered with (hostile.md 1)", () => {
  const tokens = tokensOf();
  const { accessToken } = tokens.issueUserToken(
    { ...device, policy },
    { id: ids.newId("User"), tokenVersion: 0 },
  ).token;

  it("are refused when truncated or extended", () => {
    for (let length = 0; length < accessToken.length; length++) {
      assert.equal(tokens.open(accessToken.slice(0, length)), undefined, `first ${length}`);
      assert.equal(tokens.open(accessToken.slice(length + 1)), undefined, `without ${length + 1}`);
    }
    for (const more of ["A", "=", ".", " ", "\n", "AAAA", accessToken]) {
      assert.equal(tokens.open(accessToken + more), undefined);
      assert.equal(tokens.open(more + accessToken), undefined);
    }
  });

  it("are refused with any character changed", () => {
    for (let at = 0; at < accessToken.length; at++) {
      for (const character of ["A", "b", "-", "."]) {
        if (accessToken[at] === character) continue;
        const changed = accessToken.slice(0, at) + character + accessToken.slice(at + 1);
        assert.equal(tokens.open(changed), undefined, `character ${at}`);
      }
    }
  });

  it("are refused when forged, sealed under another secret, or sealed for another purpose", () => {
    const claims = JSON.stringify(["app", "key", "dev", null, "tok", now, now + dayMs, 0, 0, 0, 0]);
    const otherPurpose = createSealer(["the first secret of all"], "page token").seal(claims, "main");
    const otherSecret = createSealer(["another secret altogether"], "access token").seal(claims, "main");
    const unsealed = Buffer.from(claims).toString("base64url");
    for (const forged of [otherPurpose, otherSecret, unsealed, claims]) {
      assert.equal(tokens.open(`main.${forged}`), undefined);
    }
  });

  it("are refused in another region, even with the region's name exchanged", () => {
    const elsewhere = tokensOf({ region: "eu" });
    assert.equal(elsewhere.open(accessToken), undefined);
    assert.equal(elsewhere.open(accessToken.replace("main.", "eu.")), undefined);
    assert.notEqual(tokens.open(accessToken), undefined);
  });
});

describe("rotation of ROLLCALL_SECRET", () => {
  const oldSecret = "the old secret still known";
  const newSecret = "the new secret just made up";

  /** Starts a process on the database of the first one, or on a database of its own. */
  async function start(t: TestContext, secrets: string, first?: TestApp): Promise<TestApp> {
    const database = first === undefined ? {} : { DATABASE_URL: first.config.databaseUrl };
    const app = await startTestApp({ ROLLCALL_SECRET: secrets, ...database });
    t.after(() => app.close());
    return app;
  }

  it('opens tokens and page tokens made under old, and makes new ones under new, with "new,old"', async (t) => {
    const before = await start(t, oldSecret);
    const user = await before.signUp();
    for (let n = 0; n < 2; n++) {
      await before.call("POST /checkins", { token: user.token, body: { location: "1,2" } });
    }
    const { nextToken } = (await before.call("GET /checkins?pageSize=1", { token: user.token })).body.result;

    const rotated = await start(t, `${newSecret},${oldSecret}`, before);
    assert.equal((await rotated.call("GET /users/me", { token: user.token })).status, 200);
    const page = await rotated.call(`GET /checkins?pagingToken=${nextToken}`, { token: user.token });
    assert.equal(page.body.result.pageResults.length, 1);
    const body = { username: user.userName, password: user.password };
    const login = await rotated.call("POST /users/login", { token: user.deviceToken, body });
    const newToken = login.body.result.accessToken;

    const after = await start(t, newSecret, before);
    assert.equal((await after.call("GET /users/me", { token: newToken })).status, 200);
    const again = await after.call(`GET /checkins?pagingToken=${page.body.result.currentToken}`, { token: newToken });
    assert.equal(again.status, 200);

    for (const [app, token] of [
      [after, user.token],
      [before, newToken],
    ] as const) {
      const refused = await app.call("GET /users/me", { token });
      assertError(refused, 401, "AuthAccessTokenInvalid", 261, "Incorrect token type.");
    }
    const oldPage = await after.call(`GET /checkins?pagingToken=${nextToken}`, { token: newToken });
    assert.equal(oldPage.body.error, "ParameterIncorrectFormat");
  });
});
