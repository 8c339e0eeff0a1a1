import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Answer, assertError, startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";
import { updateApplicationDeleted } from "../applications/applications.store.ts";
import type { Transaction } from "../db/database.ts";
import { noEvents } from "../event-log/recorder.ts";
import { createPolicies, type Policies } from "../tenancy/policies.ts";
import { createCallers } from "./caller.ts";
import { createRevocations, type Revocations } from "./revocations.ts";
import { createTokenUses } from "./token-uses.ts";
import { createTokens, type TokenClaims, type Tokens } from "./tokens.ts";

let test: TestApp;
/** Another process on the same database. */
let other: TestApp;
/** Opens tokens as the processes do. */
let tokens: Tokens;
let policies: Policies;
before(async () => {
  test = await startTestApp();
  other = await startTestApp({ DATABASE_URL: test.config.databaseUrl });
  const secrets = test.config.secrets ?? [];
  tokens = createTokens({ ...test.config, secrets }, test.app.clock, test.app.ids);
  policies = createPolicies({ secrets, database: test.app.database });
});
after(async () => {
  await other.close();
  await test.close();
});

/** An operation that needs only the token: it does not load the user again. */
function use(token: string, app = test): Promise<Answer> {
  return app.call("GET /checkins?pageSize=1", { token });
}

function assertDead(answer: Answer): void {
  assertError(answer, 401, "AuthAccessTokenInvalid", 261, "Incorrect token type.");
}

function claimsOf(token: string): TokenClaims {
  const claims = tokens.open(token);
  assert.ok(claims);
  return claims;
}

/** A device token is valid when a login with it fails only for its credentials. */
async function isDeviceTokenGood(token: string, app = test): Promise<boolean> {
  const body = { username: "nobody", password: "wrong" };
  return (await app.call("POST /users/login", { token, body })).status === 403;
}

type End = (revocations: Revocations, claims: TokenClaims, transaction: Transaction) => Promise<unknown>;

interface Ending {
  readonly what: string;
  readonly end: End;
  /**
   * Whether this also revokes the user's second token, on another device of the same key, and the device's own token.
   */
  readonly secondDies: boolean;
  readonly deviceDies: boolean;
}

const endings: readonly Ending[] = [
  {
    what: "one token",
    end: (revocations, { applicationId, userId = "", tokenId }, transaction) =>
      revocations.endToken(applicationId, userId, tokenId, transaction),
    secondDies: false,
    deviceDies: false,
  },
  {
    what: "a user's tokens",
    end: (revocations, { applicationId, userId = "" }, transaction) =>
      revocations.endUserTokens(applicationId, userId, transaction),
    secondDies: true,
    deviceDies: false,
  },
  {
    what: "a user, by deletion",
    async end(revocations, { applicationId, userId = "" }, transaction) {
      await revocations.invalidateTokens(applicationId, { kind: "user", id: userId }, transaction);
      const { queries } = transaction;
      await queries
        .deleteFrom("user_tokens")
        .where("application_id", "=", applicationId)
        .where("user_id", "=", userId)
        .execute();
      await queries.deleteFrom("users").where("application_id", "=", applicationId).where("id", "=", userId).execute();
    },
    secondDies: true,
    deviceDies: false,
  },
  {
    what: "a device's tokens",
    end: (revocations, { applicationId, deviceId }, transaction) =>
      revocations.endDeviceTokens(applicationId, deviceId, transaction),
    secondDies: false,
    deviceDies: true,
  },
  {
    what: "an application key's tokens",
    end: (revocations, { applicationId, applicationKeyId }, transaction) =>
      revocations.endKeyTokens(applicationId, applicationKeyId, transaction),
    secondDies: true,
    deviceDies: true,
  },
  {
    what: "an application key, by deletion",
    async end(revocations, { applicationId, applicationKeyId }, transaction) {
      await revocations.invalidateTokens(applicationId, { kind: "key", id: applicationKeyId }, transaction);
      await transaction.queries
        .deleteFrom("application_keys")
        .where("application_id", "=", applicationId)
        .where("id", "=", applicationKeyId)
        .execute();
    },
    secondDies: true,
    deviceDies: true,
  },
  {
    what: "an application's tokens",
    end: (revocations, { applicationId }, transaction) => revocations.endApplicationTokens(applicationId, transaction),
    secondDies: true,
    deviceDies: true,
  },
  {
    what: "an application, by deletion",
    end: (_, { applicationId }, { queries }) => updateApplicationDeleted(applicationId, test.now(), queries),
    secondDies: true,
    deviceDies: true,
  },
];

/** A user of a new application, with a second token from a second device. */
async function setUp(): Promise<{ user: TestUser; second: string }> {
  const application = await test.createApplication();
  const user = await test.signUp("Jane", application);
  const token = await test.registerDevice(application);
  const body = { username: "Jane", password: user.password };
  const second = (await test.call("POST /users/login", { token, body })).body.result.accessToken;
  return { user, second };
}

describe("revocation: spec/authentication#revocation, hostile.md 2", () => {
  for (const { what, end, secondDies, deviceDies } of endings) {
    it(`every process refuses the token on the next request, on cached paths and after a restart: ${what}`, async (t) => {
      const { user, second } = await setUp();
      const bystander = await setUp();
      for (const app of [test, other]) {
        for (const token of [user.token, second, bystander.second]) assert.equal((await use(token, app)).status, 200);
        assert.ok(await isDeviceTokenGood(user.deviceToken, app));
      }

      // From a process that cannot reach the caches of the others, like the command line.
      const revocations = createRevocations({ invalidateTokenCache: () => {} }, noEvents);
      const claims = claimsOf(user.token);
      await other.app.database.write((transaction) => end(revocations, claims, transaction));

      const restarted = await startTestApp({ DATABASE_URL: test.config.databaseUrl });
      t.after(() => restarted.close());
      for (const app of [test, restarted]) {
        assertDead(await use(user.token, app));
        if (secondDies) assertDead(await use(second, app));
        else assert.equal((await use(second, app)).status, 200);
        assert.equal(await isDeviceTokenGood(user.deviceToken, app), !deviceDies);
        assert.equal((await use(bystander.user.token, app)).status, 200);
        assert.equal((await use(bystander.second, app)).status, 200);
      }
    });
  }

  it("every process refuses the token on the next request, and after a restart: logout", async (t) => {
    const user = await test.signUp();
    for (const app of [test, other]) assert.equal((await use(user.token, app)).status, 200);
    await other.call("POST /users/me/logout", { token: user.token });
    for (const app of [test, other]) assertDead(await use(user.token, app));
    const restarted = await startTestApp({ DATABASE_URL: test.config.databaseUrl });
    t.after(() => restarted.close());
    assertDead(await use(user.token, restarted));
  });

  it("a client gets new valid tokens afterwards, by login and by registration with the same key", async () => {
    const { user } = await setUp();
    const claims = claimsOf(user.token);
    const revocations = createRevocations({ invalidateTokenCache: () => {} }, noEvents);
    await other.app.database.write(async (transaction) => {
      await revocations.endUserTokens(claims.applicationId, `${claims.userId}`, transaction);
    });
    const body = { username: user.userName, password: user.password };
    const login = await test.call("POST /users/login", { token: user.deviceToken, body });
    assert.equal((await use(login.body.result.accessToken)).status, 200);
    assertDead(await use(user.token));
  });

  it("a revoked device that registers again gets a valid token, and its old one stays revoked", async () => {
    const body = { ...test.application, platform: "test", uniqueId: "stolen and found" };
    const oldToken = (await test.call("POST /devices", { body })).body.result.accessToken;
    const { applicationId, deviceId } = claimsOf(oldToken);
    const revocations = createRevocations({ invalidateTokenCache: () => {} }, noEvents);
    await other.app.database.write((transaction) => revocations.endDeviceTokens(applicationId, deviceId, transaction));
    const newToken = (await test.call("POST /devices", { body })).body.result.accessToken;
    assert.equal(claimsOf(newToken).deviceId, deviceId);
    assert.ok(await isDeviceTokenGood(newToken));
    assert.ok(!(await isDeviceTokenGood(oldToken)));
  });
});

describe("revocation within one process", () => {
  for (const { what, end } of endings.filter(({ what }) => !what.includes("deletion"))) {
    it(`a cached token is checked again and refused: ${what}`, async () => {
      const { user } = await setUp();
      const { database, clock, regions } = test.app;
      const callers = createCallers(
        { tokens, tokenUses: createTokenUses(database), policies, regions, database, clock, endReused: async () => {} },
        test.config,
      );
      const authorization = `Service ${user.token}`;
      await callers.authenticate(authorization, "user");
      assert.ok(!(callers.authenticate(authorization, "user") instanceof Promise), "known now, without a look-up");

      const revocations = createRevocations(callers, noEvents);
      const claims = claimsOf(user.token);
      await database.write((transaction) => end(revocations, claims, transaction));
      await assert.rejects(async () => callers.authenticate(authorization, "user"), {
        condition: "AuthAccessTokenInvalid",
      });
    });
  }

  it("a revocation during the check of a token prevents its confirmation", async () => {
    const { token } = await test.signUp();
    const { database, clock, regions } = test.app;
    const callers = createCallers(
      { tokens, tokenUses: createTokenUses(database), policies, regions, database, clock, endReused: async () => {} },
      test.config,
    );
    const checking = callers.authenticate(`Service ${token}`, "user");
    assert.ok(checking instanceof Promise);
    callers.invalidateTokenCache();
    await checking;
    assert.ok(callers.authenticate(`Service ${token}`, "user") instanceof Promise, "checked again");
  });

  it("a revocation that is rolled back revokes no token", async () => {
    const user = await test.signUp();
    const { applicationId, userId } = claimsOf(user.token);
    const revocations = createRevocations({ invalidateTokenCache: () => assert.fail("nothing was revoked") }, noEvents);
    const failing = test.app.database.write(async (transaction) => {
      await revocations.endUserTokens(applicationId, `${userId}`, transaction);
      throw new Error("no");
    });
    await assert.rejects(failing, /^Error: no$/);
    assert.equal((await use(user.token)).status, 200);
  });
});
