import assert from "node:assert/strict";
import { after, before, describe, it, type TestContext } from "node:test";
import { sql } from "kysely";
import { type Answer, assertError, send, startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";

let test: TestApp;
let user: TestUser;
before(async () => {
  test = await startTestApp();
  user = await test.signUp();
});
after(() => test.close());

const dayMs = 86_400_000;
const hourMs = 3_600_000;

function assertInvalid(answer: Answer): void {
  assertError(answer, 401, "AuthAccessTokenInvalid", 261, "Incorrect token type.");
}

async function startApp(t: TestContext, settings: Record<string, string> = {}): Promise<TestApp> {
  const app = await startTestApp(settings);
  t.after(() => app.close());
  return app;
}

function me(authorization: string | undefined, app = test): Promise<Answer> {
  return app.call("GET /users/me", authorization === undefined ? {} : { headers: { authorization } });
}

describe("the Authorization header: spec/authentication#authorization-header", () => {
  it("accepts Service or Bearer and the token, the word in any case and with surrounding blanks", async () => {
    for (const scheme of ["Service", "service", "SERVICE", "Bearer", "bEARER"]) {
      assert.equal((await me(`${scheme} ${user.token}`)).status, 200, scheme);
      assert.equal((await me(`  ${scheme}   ${user.token}  `)).status, 200, scheme);
    }
  });

  it("accepts one more word, the signature", async () => {
    assert.equal((await me(`Service ${user.token} c2lnbmF0dXJl`)).status, 200);
    assertInvalid(await me(`Service ${user.token} c2ln bmF0dXJl`));
  });

  it("answers 401 AuthAccessTokenInvalid when it is missing, has no token, or has another scheme", async () => {
    const { token } = user;
    for (const header of [
      undefined,
      "",
      " ",
      "Service",
      "Service ",
      token,
      `Service${token}`,
      `Service:${token}`,
      `Service\t${token}`,
      `Basic ${token}`,
      `Service <${token}>`,
      `Service "${token}"`,
      `${token} Service`,
      "Service null",
      "Service undefined",
      "Service __proto__",
      `Service ${"x".repeat(10_000)}`,
    ]) {
      assertInvalid(await me(header));
    }
  });

  it("the message gives the reason for a refused token: spec/authentication#refusal-messages", async (t) => {
    const app = await startApp(t, { DATABASE_URL: test.config.databaseUrl });
    const { token } = await app.signUp();
    const why = async (header: string | undefined) => (await me(header, app)).body.message;
    const begins = "Incorrect token type.";
    for (const header of [undefined, "", "Service", "Basic abc", token]) {
      assert.equal(
        await why(header),
        `${begins} The Authorization header holds no token. Send Authorization: Service <token>.`,
      );
    }
    const changed = `${token.slice(0, -1)}${token.endsWith("A") ? "B" : "A"}`;
    for (const forged of ["x", changed, token.slice(0, -1), `${token}A`]) {
      assert.equal(await why(`Service ${forged}`), `${begins} The token is unknown.`);
    }
    const [expiring, ended] = [await app.signUp(), await app.signUp()];
    await app.call("POST /users/me/logout", { token: ended.token });
    for (let n = 0; n < 2; n++)
      assert.equal(await why(`Service ${ended.token}`), `${begins} The token has been ended.`);
    assert.equal((await me(`Service ${expiring.token}`, app)).status, 200);
    app.advance(app.config.userTokenLifetimeMs);
    // A revoked token that has also expired is refused without a lookup.
    for (const each of [expiring, ended]) {
      assert.equal(await why(`Service ${each.token}`), `${begins} The token has expired.`);
    }
  });

  it("a token in the query or the body is ignored", async () => {
    assertInvalid(await test.call(`GET /users/me?accessToken=${user.token}`));
    const body = { accessToken: user.token, location: "1,2" };
    assertInvalid(await test.call("POST /checkins", { body }));
  });

  it("the accepted schemes are configurable", async (t) => {
    const app = await startApp(t, { AUTH_SCHEMES: "Acme,MAX-1", DATABASE_URL: test.config.databaseUrl });
    for (const scheme of ["Acme", "acme", "max-1"])
      assert.equal((await me(`${scheme} ${user.token}`, app)).status, 200);
    for (const scheme of ["Service", "Bearer"]) assertInvalid(await me(`${scheme} ${user.token}`, app));
  });
});

describe("the kind of token: spec/authentication#device-token, spec/authentication#user-token", () => {
  it("answers 403 AuthUserAccessTokenRequired without a message for a device token where a user token is required", async () => {
    for (const operation of ["GET /users/me", "GET /checkins", "POST /users/me/logout", "POST /checkins"]) {
      const answer = await test.call(operation, { token: user.deviceToken });
      assertError(answer, 403, "AuthUserAccessTokenRequired", 263);
    }
  });

  it("an invalid device token is reported as invalid first", async () => {
    assertInvalid(await me(`Service ${user.deviceToken}x`));
  });

  it("a user token works wherever a device token works", async () => {
    const body = { username: user.userName, password: user.password };
    assert.equal((await test.call("POST /users/login", { token: user.token, body })).status, 200);
    const created = { username: "Guest", password: "correct horse" };
    assert.equal((await test.call("POST /users", { token: user.token, body: created })).status, 200);
  });
});

describe("expiry: spec/authentication#expiry", () => {
  it("a token is refused from the exact millisecond of its expiry, even when it was just in use", async (t) => {
    const app = await startApp(t);
    const jane = await app.signUp();
    app.advance(30 * dayMs - 1);
    assert.equal((await me(`Service ${jane.token}`, app)).status, 200);
    app.advance(1);
    assertInvalid(await me(`Service ${jane.token}`, app));

    app.advance(60 * dayMs - 1);
    const login = { token: jane.deviceToken, body: { username: jane.userName, password: jane.password } };
    assert.equal((await app.call("POST /users/login", login)).status, 200);
    app.advance(1);
    assertInvalid(await app.call("POST /users/login", login));
  });

  it("an expired token stays refused when the clock is set back by an hour", async (t) => {
    const app = await startApp(t, { USER_TOKEN_LIFETIME_MS: "60000" });
    const { token } = await app.signUp();
    assert.equal((await me(`Service ${token}`, app)).status, 200);
    app.advance(60_000);
    assertInvalid(await me(`Service ${token}`, app));
    app.advance(-hourMs);
    assertInvalid(await me(`Service ${token}`, app));
  });

  it("tokens in use stay valid when the clock is set back by an hour", async (t) => {
    const app = await startApp(t);
    const jane = await app.signUp();
    app.advance(-hourMs);
    assert.equal((await me(`Service ${jane.token}`, app)).status, 200);
    const body = { username: jane.userName, password: jane.password };
    const login = await app.call("POST /users/login", { token: jane.deviceToken, body });
    assert.equal((await me(`Service ${login.body.result.accessToken}`, app)).status, 200);
  });
});

describe("refusals that cost no lookup (hostile.md 1)", () => {
  it("forged, truncated, extended, changed, foreign and expired tokens are refused without the database", async (t) => {
    const app = await startApp(t, { USER_TOKEN_LIFETIME_MS: "60000" });
    const otherSecret = await startApp(t, { ROLLCALL_SECRET: "a secret of somebody else", DATABASE_URL: url(app) });
    const otherRegion = await startApp(t, { REGION: "eu", DATABASE_URL: url(app) });
    const expired = (await app.signUp()).token;
    const good = (await app.signUp()).deviceToken;
    const foreign = [
      await otherSecret.registerDevice(app.application),
      await otherRegion.registerDevice(app.application),
    ];
    app.advance(60_000);
    // From here on every lookup of a token fails.
    await app.app.database.write(({ queries }) =>
      sql`alter table applications rename to applications_away`.execute(queries),
    );

    const login = (token: string) => send(app.port, "POST", "/users/login", { token });
    assert.equal((await login(good)).status, 500);
    const middle = Math.floor(good.length / 2);
    const other = good[middle] === "A" ? "B" : "A";
    for (const token of [
      "garbage",
      "main.",
      `main.${"A".repeat(200)}`,
      good.slice(0, -1),
      good.slice(0, middle),
      `${good}A`,
      good.slice(0, middle) + other + good.slice(middle + 1),
      good.replace("main.", "eu."),
      expired,
      ...foreign,
      ...foreign.map((token) => token.replace("eu.", "main.")),
    ]) {
      assertInvalid(await login(token));
    }
  });

  it("a token of another region is refused with its serviceRoot, also without the database", async (t) => {
    const regions = { REGIONS: "main=https://a.example,eu=https://eu.example/x", REGION_SECRET: "a secret of regions" };
    const app = await startApp(t, regions);
    const eu = await startApp(t, { ...regions, REGION: "eu", ROLLCALL_SECRET: "a secret of that region" });
    const token = await eu.registerDevice();
    const foreign = [token, token.slice(0, -1), `${token}A`, "eu.", "eu.x", `eu.${"A".repeat(200)}`];
    const notOfIt = [
      "eu",
      "main.x",
      ".eu.x",
      "x.eu.y",
      "EU.x",
      "__proto__.x",
      "constructor.x",
      token.replace("eu.", "us."),
    ];
    await app.app.database.write(async ({ queries }) => {
      for (const table of ["devices", "applications", "application_regions"]) {
        await sql`alter table ${sql.table(table)} rename to ${sql.table(`${table}_away`)}`.execute(queries);
      }
    });
    for (const each of [...foreign, ...notOfIt]) {
      const serviceRoot = foreign.includes(each) ? { serviceRoot: "https://eu.example/x" } : {};
      for (const operation of ["POST /users/login", "GET /users/me", "POST /batch", "DELETE /checkins/x"]) {
        const { status, body } = await app.call(operation, { token: each });
        const { request_id } = body;
        const why = foreign.includes(each) ? "The token belongs to another region." : "The token is unknown.";
        const [error, message] = ["AuthAccessTokenInvalid", `Incorrect token type. ${why}`];
        const expected = { status: 401, error, errorNumber: 261, message, ...serviceRoot, request_id, success: false };
        assert.deepEqual([status, body], [401, expected], `${operation} ${each}`);
      }
    }
  });

  it("the cache of opened tokens is bounded, and never returns the caller of another token", async (t) => {
    const app = await startApp(t, { TOKEN_CACHE_ITEMS_MAX: "1" });
    const users = [await app.signUp(), await app.signUp(), await app.signUp()];
    for (let round = 0; round < 3; round++) {
      for (const { id, token } of users) assert.equal((await me(`Service ${token}`, app)).body.result.id, id);
    }
  });
});

function url(app: TestApp): string {
  return app.config.databaseUrl;
}
