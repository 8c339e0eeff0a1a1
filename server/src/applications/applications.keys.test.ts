import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { sql } from "kysely";
import { type Answer, assertError, assertResult, startTestApp, type TestApp } from "../../test/harness.ts";
import { dataPart, download, png, upload } from "../../test/uploads.ts";
import { insertKey } from "./applications.keys.store.ts";
import type { NewApplication } from "./applications.store.ts";

let test: TestApp;
/** Another process on the same database. */
let other: TestApp;
let token: string;
before(async () => {
  test = await startTestApp();
  other = await startTestApp({ DATABASE_URL: test.config.databaseUrl });
  token = (await test.createOperator()).token;
});
after(async () => {
  await other.close();
  await test.close();
});

interface Key {
  readonly id: string;
  readonly state: string;
}

const dead = [401, "AuthAccessTokenInvalid", 261, "Incorrect token type."] as const;

function operate(operation: string, appid: string, rest = "", body: object = {}, app = test): Promise<Answer> {
  const isRead = operation === "GET";
  return app.call(`${operation} /_/api/applications/${appid}${rest}`, { token, ...(!isRead && { body }) });
}

async function keysOf(appid: string): Promise<Key[]> {
  return (await operate("GET", appid, "/keys")).body.result.pageResults;
}

async function createKey(appid: string, label?: string): Promise<{ id: string; appkey: string }> {
  return (await operate("POST", appid, "/keys", label === undefined ? {} : { label })).body.result;
}

function register({ appid, appkey }: NewApplication, uniqueId?: string): Promise<Answer> {
  return test.call("POST /devices", { body: { appid, appkey, platform: "test", uniqueId } });
}

async function assertRefused(application: NewApplication): Promise<void> {
  const { status, body } = await register(application);
  assert.deepEqual([status, body.error], [401, "AuthAppCredentialsInvalid"]);
}

/** The response status for a token in this process and in another one. */
async function statusesOf(userToken: string): Promise<number[]> {
  return [
    (await test.call("GET /users/me", { token: userToken })).status,
    (await other.call("GET /users/me", { token: userToken })).status,
  ];
}

// spec/operators#application-keys
describe("the keys of an application", () => {
  it("a key is not created for an application that was erased concurrently", async () => {
    const created = test.app.database.write(({ queries }) =>
      insertKey(test.app.ids.newId("App"), null, test.app, queries),
    );
    await assert.rejects(created, { condition: "ItemDoesNotExist" });
  });

  it("several keys can be active, and each is listed with the number and time of its last registrations", async () => {
    const application = await test.createApplication();
    const { appid } = application;
    const firstAt = test.now();
    await register(application, "one");
    await register(application, "two");
    test.advance(1_000);
    const created = await operate("POST", appid, "/keys", { label: " Version 2 " });
    const second = created.body.result;
    assert.match(second.id, /^apk_[0-9a-z]{26}$/);
    assert.match(second.appkey, /^rk_[\w-]{43}$/);
    const secondAt = `/Date(${test.now()})/`;
    assertResult(created, 201, { id: second.id, appkey: second.appkey, label: "Version 2", created: secondAt });
    test.advance(1_000);
    await register({ appid, appkey: second.appkey }, "two");
    const lastAt = `/Date(${test.now()})/`;
    const third = await createKey(appid);

    const listed = await operate("GET", appid, "/keys");
    const { currentToken, pageResults } = listed.body.result;
    const state = "active";
    const at = `/Date(${firstAt})/`;
    assertResult(listed, 200, {
      currentToken,
      pageResults: [
        { id: pageResults[0].id, created: at, state, devices: 1, lastRegistered: at },
        { id: second.id, label: "Version 2", created: secondAt, state, devices: 1, lastRegistered: lastAt },
        { id: third.id, created: lastAt, state, devices: 0 },
      ],
    });
    const { nextToken } = (await operate("GET", appid, "/keys?pageSize=2")).body.result;
    const rest = await operate("GET", appid, `/keys?pagingToken=${nextToken}`);
    assert.deepEqual(rest.body.result.pageResults, pageResults.slice(2));
    const foreign = await operate("GET", test.application.appid, `/keys?pagingToken=${nextToken}`);
    assert.equal(foreign.body.error, "ParameterIncorrectFormat", "hostile.md 14");
    const known = JSON.stringify([listed.body, test.logLines]);
    for (const { appkey } of [application, second, third]) assert.ok(!known.includes(appkey.slice(3)));
  });

  it("a label has 1 to 256 characters on one line", async () => {
    for (const label of ["  ", "a\nb", "x".repeat(257)]) {
      const message = "label must have 1 to 256 characters, none of them a line break or a control character.";
      const answer = await operate("POST", test.application.appid, "/keys", { label });
      assertError(answer, 400, "ParameterOutOfRange", 514, message);
    }
  });

  it("at most a hundred keys are active, even with concurrent requests", async () => {
    const { appid } = await test.createApplication();
    // On a busy machine a call may wait too long in a queue; it then gets 503, and has no effect.
    const create = async (): Promise<Answer> => {
      const answer = await operate("POST", appid, "/keys");
      return answer.status === 503 ? create() : answer;
    };
    const answers = await Promise.all(Array.from({ length: 110 }, create));
    assert.equal(answers.filter(({ status }) => status === 201).length, 99);
    const message = "An application has at most 100 active keys. Retire one.";
    const refused = answers.find(({ status }) => status !== 201);
    assert.ok(refused);
    assertError(refused, 400, "ParameterOutOfRange", 514, message);
  });

  it("devices are counted correctly in several steps, with equal times, and by key", async () => {
    const { appid } = await test.createApplication();
    const key = await createKey(appid);
    await insertDevices(appid, key.id, 10_500, "5");
    await insertDevices(appid, key.id, 12_345, "6 + n % 1000");
    await insertDevices(appid, (await createKey(appid)).id, 7, "3");
    const counted = (await operate("GET", appid, "/keys")).body.result.pageResults;
    assert.deepEqual(
      counted.map(({ devices, lastRegistered }: Record<string, unknown>) => [devices, lastRegistered]),
      [
        [0, undefined],
        [22_845, "/Date(1005)/"],
        [7, "/Date(3)/"],
      ],
    );
  });
});

/** SQL of a table `numbers (n)` with `count` rows, from 0. */
function numbers(count: number) {
  return sql`with recursive numbers (n) as (select 0 union all select n + 1 from numbers where n < ${count} - 1)`;
}

/** @param at SQL of `n`: when the device registered */
async function insertDevices(appid: string, keyId: string, count: number, at: string): Promise<void> {
  await test.app.database.write(({ queries }) =>
    sql`
      insert into devices
        (application_id, id, platform, token_version, created_at, modified_at, key_id, registered_at)
      ${numbers(count)}
      select ${appid}, ${keyId} || '-' || ${at} || '-' || n, 'test', 0, 0, 0, ${keyId}, ${sql.raw(at)} from numbers
    `.execute(queries),
  );
}

/** Inserts tokens of a user, each on another device. */
async function insertTokens(appid: string, userId: string, count: number): Promise<void> {
  const step = 20_000;
  for (let start = 0; start < count; start += step) {
    await test.app.database.write(({ queries }) =>
      sql`
        insert into user_tokens
          (application_id, user_id, id, device_id, user_version, created_at, last_used_at, expires_at)
        ${numbers(step)}
        select
          token.application_id, token.user_id, ${`${start}-`} || numbers.n, token.device_id, token.user_version,
          token.created_at, token.last_used_at, token.expires_at
        from numbers, (select * from user_tokens where application_id = ${appid} and user_id = ${userId} limit 1) token
      `.execute(queries),
    );
  }
}

// spec/operators#application-keys
describe("retiring a key", () => {
  it("stops registrations with it, and every process refuses its tokens from the next request on", async () => {
    const application = await test.createApplication();
    const { appid } = application;
    const old = await test.signUp("Old", application);
    const key = await createKey(appid);
    const young = await test.signUp("Young", { appid, appkey: key.appkey });
    const [first] = await keysOf(appid);
    assert.ok(first);
    assert.deepEqual([await statusesOf(old.token), await statusesOf(young.token)].flat(), [200, 200, 200, 200]);

    const answer = await operate("POST", appid, `/keys/${first.id}/retire`);
    const { created } = answer.body.result;
    const retired = `/Date(${test.now()})/`;
    assertResult(answer, 200, { id: first.id, created, state: "retired", retired });
    assert.deepEqual([await statusesOf(old.token), await statusesOf(young.token)].flat(), [401, 401, 200, 200]);
    await assertRefused(application);
    assert.equal((await register({ appid, appkey: key.appkey })).status, 201);

    test.advance(1_000);
    const again = await operate("POST", appid, `/keys/${first.id}/retire`);
    assertResult(again, 200, { id: first.id, created, state: "retired", retired });
    assert.deepEqual(
      (await keysOf(appid)).map(({ state }) => state),
      ["retired", "active"],
    );
  });

  it("requires the id of the last active key again, even with concurrent requests", async () => {
    const application = await test.createApplication();
    const { appid } = application;
    await createKey(appid);
    const keys = await keysOf(appid);
    const answers = await Promise.all(
      keys.map(({ id }, n) => operate("POST", appid, `/keys/${id}/retire`, {}, n === 0 ? test : other)),
    );
    const refused = answers.filter(({ status }) => status === 400);
    assert.equal(refused.length, 1);
    const message =
      "No device could register any more: create another key first, or repeat the id of this one as confirm.";
    assertError(refused[0] as Answer, 400, "ParameterOutOfRange", 514, message);
    const last = (await keysOf(appid)).find(({ state }) => state === "active");
    assert.ok(last);
    for (const confirm of ["true", appid, keys.find(({ id }) => id !== last.id)?.id]) {
      assert.equal((await operate("POST", appid, `/keys/${last.id}/retire`, { confirm })).status, 400);
    }
    assert.equal((await operate("POST", appid, `/keys/${last.id}/retire`, { confirm: last.id })).status, 200);
    await assertRefused(application);
    assert.equal((await register({ appid, appkey: (await createKey(appid)).appkey })).status, 201);
  });

  it("invalidates tokens of concurrent registrations", async () => {
    const application = await test.createApplication();
    const { appid } = application;
    await createKey(appid);
    const [first] = await keysOf(appid);
    const registering = Array.from({ length: 50 }, () => register(application));
    const retiring = operate("POST", appid, `/keys/${first?.id}/retire`, {}, other);
    const answers = await Promise.all(registering);
    assert.equal((await retiring).status, 200);
    for (const { body } of answers.filter(({ status }) => status === 201)) {
      assertError(await test.call("GET /devices/current", { token: body.result.accessToken }), ...dead);
    }
  });
});

describe("revoking tokens at the upper levels of the kill tree", () => {
  it("revokes only the tokens of a key, and the key stays active", async () => {
    const application = await test.createApplication();
    const { appid } = application;
    const key = await createKey(appid);
    const [one, two] = [await test.signUp("One", application), await test.signUp("Two", { appid, appkey: key.appkey })];
    assert.deepEqual([await statusesOf(one.token), await statusesOf(two.token)].flat(), [200, 200, 200, 200]);
    assertResult(await operate("POST", appid, `/keys/${key.id}/revoke-tokens`), 200, true);
    assert.deepEqual([await statusesOf(one.token), await statusesOf(two.token)].flat(), [200, 200, 401, 401]);
    assert.equal((await register({ appid, appkey: key.appkey })).status, 201);
  });

  it("revokes only the tokens of an application, and its keys stay active", async () => {
    const application = await test.createApplication();
    const neighbour = await test.signUp();
    const { token: userToken, deviceToken } = await test.signUp("Jane", application);
    assert.deepEqual(await statusesOf(userToken), [200, 200]);
    assert.deepEqual(await statusesOf(neighbour.token), [200, 200]);
    assertResult(await operate("POST", application.appid, "/revoke-tokens", {}, other), 200, true);
    for (const app of [test, other]) {
      assertError(await app.call("GET /users/me", { token: userToken }), ...dead);
      assertError(await app.call("GET /devices/current", { token: deviceToken }), ...dead);
    }
    assert.deepEqual(await statusesOf(neighbour.token), [200, 200]);
    assert.equal((await register(application)).status, 201);
  });
});

/**
 * Simulates an app (spec/authentication#revocation) that registers, logs in, and registers again when its token is
 * refused.
 */
function startApp(configuration: { key: NewApplication }) {
  const user = { username: "Honest", password: "correct horse" };
  let userToken = "";

  async function begin(operation: "POST /users" | "POST /users/login"): Promise<void> {
    const { appid, appkey } = configuration.key; // as last deployed
    const body = { appid, appkey, platform: "test", uniqueId: "an app's own" };
    const device = (await test.call("POST /devices", { body })).body.result?.accessToken;
    userToken = (await test.call(operation, { token: device, body: user })).body.result?.accessToken;
  }

  return {
    signUp: () => begin("POST /users"),
    async call(operation: string): Promise<Answer> {
      const answer = await test.call(operation, { token: userToken });
      if (answer.body.error !== "AuthAccessTokenInvalid") return answer;
      await begin("POST /users/login");
      return test.call(operation, { token: userToken });
    },
  };
}

// spec/operators#application-keys
describe("a compromised application", () => {
  it("one write revokes every token and key in every process; an app recovers automatically with the new key", async () => {
    const application = await test.createApplication();
    const { appid } = application;
    const second = await createKey(appid);
    const [thief, neighbour] = [await test.signUp("Thief", { appid, appkey: second.appkey }), await test.signUp()];
    const configuration = { key: application };
    const honest = startApp(configuration);
    await honest.signUp();
    const me = await honest.call("GET /users/me");
    assert.equal(me.status, 200);
    assert.deepEqual(await statusesOf(thief.token), [200, 200]);

    const answer = await operate("POST", appid, "/compromised");
    const { id, appkey, created } = answer.body.result;
    assertResult(answer, 201, { id, appkey, created });
    assert.deepEqual(await statusesOf(thief.token), [401, 401]);
    assert.deepEqual(await statusesOf(neighbour.token), [200, 200]);
    const restarted = await startTestApp({ DATABASE_URL: test.config.databaseUrl });
    assertError(await restarted.call("GET /users/me", { token: thief.token }), ...dead);
    await restarted.close();
    for (const lost of [application.appkey, second.appkey]) await assertRefused({ appid, appkey: lost });
    assert.deepEqual(
      (await keysOf(appid)).map(({ state }) => state),
      ["compromised", "compromised", "active"],
    );

    configuration.key = { appid, appkey };
    const back = await honest.call("GET /users/me");
    assert.equal(back.status, 200);
    assert.equal(back.body.result.id, me.body.result.id);
    const [first, , last] = (await operate("GET", appid, "/keys")).body.result.pageResults;
    assert.deepEqual([first.devices, last.devices], [0, 1]);
  });

  it("a signedUrl gives access to its file until it expires, but not while the application is suspended", async () => {
    const application = await test.createApplication();
    const { appid } = application;
    const { token: userToken } = await test.signUp("Jane", application);
    const { signedUrl } = await upload(test, userToken, "/pictures", dataPart(await png(4, 4)));
    const statusNow = async () => (await download(test, signedUrl.slice(test.url.length))).status;
    assert.equal((await operate("POST", appid, "/compromised")).status, 201);
    assert.deepEqual(await statusesOf(userToken), [401, 401]);
    assert.equal(await statusNow(), 200);
    assert.equal((await operate("POST", appid, "/suspend")).status, 200);
    assert.equal(await statusNow(), 403);
    assert.equal((await operate("POST", appid, "/resume")).status, 200);
    assert.equal(await statusNow(), 200);
  });

  it("keys can be replaced repeatedly, even concurrently with the creation of keys", async () => {
    const { appid } = await test.createApplication();
    const calls = ["/keys", "/compromised", "/keys", "/compromised", "/keys"];
    const answers = await Promise.all(
      calls.map((call, n) => operate("POST", appid, call, {}, n % 2 === 0 ? test : other)),
    );
    const states = new Map((await keysOf(appid)).map(({ id, state }) => [id, state]));
    assert.equal(states.size, 6);
    for (const { status, body } of answers) {
      assert.equal(status, 201);
      const isActive = states.get(body.result.id) === "active";
      assert.equal((await register({ appid, appkey: body.result.appkey })).status, isActive ? 201 : 401);
    }
    assert.ok([...states.values()].includes("active"));
  });

  it("two hundred thousand tokens are invalid from the next request on, without a change of their rows", async () => {
    const application = await test.createApplication();
    const { appid } = application;
    const user = await test.signUp("Jane", application);
    await insertTokens(appid, user.id, 200_000);
    assert.deepEqual(await statusesOf(user.token), [200, 200]);
    const statements = await operate("POST", appid, "/compromised");
    assert.equal(statements.status, 201);
    assert.deepEqual(await statusesOf(user.token), [401, 401]);
    const { reads } = test.app.database;
    const left = await reads
      .selectFrom("user_tokens")
      .select(({ fn }) => fn.countAll().as("rows"))
      .where("application_id", "=", appid)
      .executeTakeFirst();
    assert.equal(Number(left?.rows), 200_001);
  });
});
