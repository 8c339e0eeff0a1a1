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
import { forOwnedTables } from "../db/owned-tables.ts";

let test: TestApp;
let operator: string;
before(async () => {
  test = await startTestApp();
  operator = (await test.createOperator()).token;
});
after(() => test.close());

function ask(operation: string, application = test.application, body?: unknown): Promise<Answer> {
  const [method, path] = operation.split(" ");
  const options = { token: operator, ...(body !== undefined && { body }) };
  return test.call(`${method} /_/api/applications/${application.appid}${path}`, options);
}

const date = (ms: number) => `/Date(${ms})/`;

async function login({ userName, password, deviceToken }: TestUser): Promise<Answer> {
  return test.call("POST /users/login", { token: deviceToken, body: { username: userName, password } });
}

const assertGone = (answer: Answer) => assertError(answer, 404, "ItemDoesNotExist", 769, "The item does not exist.");
const assertDisabled = (answer: Answer) =>
  assertError(answer, 403, "AuthUserAccountDisabled", 264, "The user account is disabled.");

describe("GET /_/api/applications/{appid}/users", () => {
  it("finds all users, celebMode or not, by name in any case, email, creation and disabled state, literally", async () => {
    const application = await test.createApplication();
    const users: TestUser[] = [];
    for (const name of ["Zoë", "adam", "a%", "a_am"]) {
      test.advance(1_000);
      users.push(await test.signUp(name, application));
    }
    const [zoe, adam, percent, underscore] = users as [TestUser, TestUser, TestUser, TestUser]; // one per name
    await test.call("PATCH /users/me", { token: zoe.token, body: { celebMode: true, email: "z@example.org" } });
    assert.equal((await ask(`POST /users/${adam.id}/disable`, application, {})).status, 200);
    const find = async (query: string) => {
      const { status, body } = await ask(`GET /users?${query}`, application);
      assert.equal(status, 200, query);
      return body.result.pageResults.map(({ id }: { id: string }) => id);
    };
    const created = test.now();
    const ids = (...some: TestUser[]) => some.map(({ id }) => id);
    assert.deepEqual(await find(""), ids(underscore, percent, adam, zoe));
    assert.deepEqual(await find("sortOrder=created"), ids(zoe, adam, percent, underscore));
    assert.deepEqual(await find("sortOrder=userName"), ids(percent, underscore, adam, zoe));
    assert.deepEqual(await find("sortOrder=-userName"), ids(zoe, adam, underscore, percent));
    assert.deepEqual(await find("userName=ZO%C3%8B"), ids(zoe));
    assert.deepEqual(await find("userName=a%25&sortOrder=userName"), ids(percent));
    assert.deepEqual(await find("userName=a_am"), ids(underscore));
    assert.deepEqual(await find("userName=%25"), []);
    assert.deepEqual(await find("email=z@example.org"), ids(zoe));
    assert.deepEqual(await find("email=Z@example.org"), []);
    assert.deepEqual(await find("disabled=true"), ids(adam));
    assert.deepEqual(await find("disabled=false&sortOrder=created"), ids(zoe, percent, underscore));
    assert.deepEqual(await find(`created=${created - 2_500}-${created - 500}&sortOrder=created`), ids(adam, percent));
    const wrongOrder = await ask(`GET /users?created=${created}-${created - 1}`, application);
    assert.equal(wrongOrder.body.error, "ParameterOutOfRange");
    for (const name of ["__proto__", "constructor", "' or 1=1 --"]) {
      assert.deepEqual(await find(`userName=${encodeURIComponent(name)}`), []);
    }
    assert.equal((await ask("GET /users?sortOrder=password_hash", application)).status, 400);
    for (const [name, most] of Object.entries({ userName: 256, email: 320 })) {
      const answer = await ask(`GET /users?${name}=${"x".repeat(most + 1)}`, application);
      assertError(answer, 400, "ParameterOutOfRange", 514, `${name} must have at most ${most} characters.`);
    }
  });

  it("finds users by prefix of name and address, literally, in every order", async () => {
    const application = await test.createApplication();
    const users: TestUser[] = [];
    for (const [name, email] of [
      ["Anna", "a@x.org"],
      ["ANTON", "A@x.org"],
      ["a%", "a%@x.org"],
      ["Berta", undefined],
    ] as const) {
      test.advance(1_000);
      const user = await test.signUp(name, application);
      users.push(user);
      if (email !== undefined) await test.call("PATCH /users/me", { token: user.token, body: { email } });
    }
    const [anna, anton, percent, berta] = users.map(({ id }) => id);
    const find = async (query: string) => {
      const { status, body } = await ask(`GET /users?${query}`, application);
      assert.equal(status, 200, query);
      return body.result.pageResults.map(({ id }: { id: string }) => id);
    };
    assert.deepEqual(await find("userNamePrefix=AN&sortOrder=userName"), [anna, anton]);
    assert.deepEqual(await find("userNamePrefix=an"), [anton, anna]);
    assert.deepEqual(await find("userNamePrefix=a%25"), [percent]);
    assert.deepEqual(await find("userNamePrefix=%25"), []);
    assert.deepEqual(await find("emailPrefix=a&sortOrder=created"), [anna, percent]);
    assert.deepEqual(await find("emailPrefix=A"), [anton]);
    assert.deepEqual(await find("emailPrefix=a&userNamePrefix=anna"), [anna]);
    const { nextToken } = (await ask("GET /users?userNamePrefix=an&pageSize=1", application)).body.result;
    assert.deepEqual(await find(`pagingToken=${nextToken}`), [anna]);
    test.advance(1_000);
    const last = users[0];
    assert.ok(last !== undefined);
    assert.equal((await login(last)).status, 200);
    assert.deepEqual(await find("sortOrder=-lastLogin"), [anna, berta, percent, anton]);
    assert.deepEqual(await find("sortOrder=lastLogin&disabled=false"), [anton, percent, berta, anna]);
  });

  it("finds users by an exact identifier in another system, only in this application", async () => {
    const [jane, john] = [await test.signUp(), await test.signUp()];
    const elsewhere = await test.createApplication();
    const foreign = await test.signUp("foreign", elsewhere);
    const add = async (user: TestUser, provider: string, identityId: string) => {
      const path = `POST /users/me/identities/${provider}`;
      assert.ok((await test.call(path, { token: user.token, body: { identityId } })).status < 300);
    };
    await add(jane, "crm", "K-100%");
    await add(john, "shop", "K-100%");
    await add(foreign, "crm", "K-100%");
    const find = async (query: string, application = test.application) =>
      (await ask(`GET /users?${query}`, application)).body.result.pageResults.map(({ id }: { id: string }) => id);
    assert.deepEqual((await find("identityProviderID=K-100%25")).toSorted(), [jane.id, john.id].toSorted());
    assert.deepEqual(await find("identityProviderID=K-100%25", elsewhere), [foreign.id]);
    assert.deepEqual(await find("identityProviderID=k-100%25"), []);
    assert.deepEqual(await find("identityProviderID=K-100"), []);
    const prefix = encodeURIComponent(jane.userName);
    assert.deepEqual(await find(`identityProviderID=K-100%25&userNamePrefix=${prefix}`), [jane.id]);
    assert.equal((await ask(`POST /users/${jane.id}/disable`, test.application, {})).status, 200);
    assert.deepEqual(await find("identityProviderID=K-100%25&disabled=true"), [jane.id]);
  });

  it("lists the identities of a user, newest first", async () => {
    const jane = await test.signUp();
    for (const identityId of ["1", "2"]) {
      test.advance(1_000);
      await test.call("POST /users/me/identities/crm", { token: jane.token, body: { identityId } });
    }
    const { pageResults } = (await ask(`GET /users/${jane.id}/identities`)).body.result;
    const newest = { identityProviderName: "crm", identityProviderID: "2", created: date(test.now()) };
    assert.deepEqual(pageResults[0], newest);
    assert.equal(pageResults.length, 2);
  });

  it("pages forwards and backwards in every order, and its page tokens are invalid for other operators and applications", async () => {
    const application = await test.createApplication();
    for (let n = 0; n < 5; n += 1) await test.signUp(`user ${n}`, application);
    const other = await test.createOperator();
    for (const sortOrder of [
      "created",
      "-created",
      "lastModified",
      "-lastModified",
      "userName",
      "-userName",
      "-lastLogin",
    ]) {
      const all = (await ask(`GET /users?sortOrder=${sortOrder}`, application)).body.result.pageResults;
      assert.equal(all.length, 5);
      const walked = [];
      let page = (await ask(`GET /users?sortOrder=${sortOrder}&pageSize=2`, application)).body.result;
      for (; ; page = (await ask(`GET /users?pagingToken=${page.nextToken}`, application)).body.result) {
        walked.push(...page.pageResults);
        if (page.nextToken === undefined) break;
      }
      assert.deepEqual(walked, all, sortOrder);
      const back = (await ask(`GET /users?pagingToken=${page.previousToken}`, application)).body.result;
      assert.deepEqual(back.pageResults, all.slice(2, 4), sortOrder);
      const elsewhere = await ask(`GET /users?pagingToken=${page.previousToken}`);
      assert.equal(elsewhere.body.error, "ParameterIncorrectFormat");
      const path = `/_/api/applications/${application.appid}/users?pagingToken=${page.previousToken}`;
      assert.equal((await test.call(`GET ${path}`, { token: other.token })).status, 400);
    }
  });
});

// spec/operators#operator-views
describe("GET /_/api/applications/{appid}/users/{userId}", () => {
  it("answers 200 with all data of the user except the password hash, with the true location and the counts", async () => {
    const jane = await test.signUp();
    const profile = {
      email: "jane@example.org",
      firstName: "Jane",
      lastName: "\u202Ea\u0301𝒳",
      gender: "Female",
      dateOfBirth: "1981-07-09",
      tag: "t",
      location: "48.2082,16.3738",
      celebMode: true,
      locationFuzzing: true,
    };
    await test.call("PATCH /users/me", { token: jane.token, body: profile });
    for (let n = 0; n < 3; n += 1) await test.call("POST /checkins", { token: jane.token, body: { location: "1,2" } });
    await test.call("POST /locations", { token: jane.token, body: { name: "Home", location: "1,2" } });
    await test.call("POST /users/me/identities/crm", { token: jane.token, body: { identityId: "4711" } });
    for (const path of [`/metadata/${jane.id}/theme`, `/metadata/${test.application.appid}/seen`])
      await test.call(`PUT ${path}`, { token: jane.token, body: { value: 1 } });
    const now = date(test.now());
    assertResult(await ask(`GET /users/${jane.id}`), 200, {
      id: jane.id,
      userName: jane.userName,
      firstName: "Jane",
      lastName: "\u202Ea\u0301𝒳",
      email: "jane@example.org",
      gender: "Female",
      dateOfBirth: date(Date.UTC(1981, 6, 9)),
      tag: "t",
      location: { lat: 48.2082, lng: 16.3738 },
      celebMode: true,
      locationFuzzing: true,
      lastLogin: now,
      created: now,
      lastModified: now,
      hasPassword: true,
      counts: {
        ...forOwnedTables(() => 0),
        tokens: 1,
        identities: 1,
        checkins: 3,
        locations: 1,
        metadata: 2,
        fileBytes: 0,
      },
    });
  });

  it("answers 404 for a user who is unknown, of another application or deleted, and for a path with the wrong application", async () => {
    const other = await test.createApplication();
    const jane = await test.signUp("Jane", other);
    assertGone(await ask(`GET /users/${jane.id}`));
    assertGone(await ask(`GET /users/${test.app.ids.newId("User")}`));
    assert.equal((await ask(`GET /users/${jane.id}`, other)).status, 200);
    await test.call("DELETE /users/me", { token: jane.token });
    assertGone(await ask(`GET /users/${jane.id}`, other));
    for (const path of ["/users/me", "/users/..", "/users/%2e%2e%2fusers", "/users/%00", "/users/__proto__"]) {
      assert.ok([400, 404].includes((await ask(`GET ${path}`)).status), path);
    }
  });
});

// spec/operators#disabled-users
describe("disabling a user", () => {
  it("refuses logins and, in every process, the next request of every token; enabling makes the same tokens valid again", async () => {
    const jane = await test.signUp();
    const other = await startTestApp({ DATABASE_URL: test.config.databaseUrl });
    const me = (app: TestApp) => app.call("GET /users/me", { token: jane.token });
    for (const app of [test, other]) assert.equal((await me(app)).status, 200);

    const { body } = await ask(`POST /users/${jane.id}/disable`, test.application, {});
    assert.equal(body.result.disabled, date(test.now()));
    for (const app of [test, other, test]) assertDisabled(await me(app));
    assertDisabled(await login(jane));
    const wrong = await login({ ...jane, password: "not hers" });
    assert.equal(wrong.body.error, "AuthBadUsernameOrPassword");
    test.advance(5_000);
    const again = await ask(`POST /users/${jane.id}/disable`, test.application, {});
    assert.deepEqual(again.body.result, body.result, "she is disabled since the first time");
    assert.equal((await test.call("GET /devices/current", { token: jane.deviceToken })).status, 200);

    const { disabled: _, ...enabled } = body.result;
    assertResult(await ask(`POST /users/${jane.id}/enable`, test.application, {}), 200, enabled);
    for (const app of [test, other]) assert.equal((await me(app)).status, 200);
    assert.equal((await login(jane)).status, 200);
    await other.close();
  });

  it("does not affect a user of another application", async () => {
    const jane = await test.signUp("Jane", await test.createApplication());
    for (const what of ["disable", "enable", "revoke-tokens"]) {
      assertGone(await ask(`POST /users/${jane.id}/${what}`, test.application, {}));
    }
    assertGone(await ask(`DELETE /users/${jane.id}?confirm=${jane.id}`));
    assert.equal((await test.call("GET /users/me", { token: jane.token })).status, 200);
  });
});

describe("tokens of a user", () => {
  it("are listed without the token strings; revoking one or all of them affects the next request", async () => {
    const jane = await test.signUp();
    const { accessToken } = (await login(jane)).body.result;
    const { pageResults } = (await ask(`GET /users/${jane.id}/tokens`)).body.result;
    assert.equal(pageResults.length, 2);
    const [newest] = pageResults;
    assert.deepEqual(Object.keys(newest), ["id", "deviceID", "platform", "created", "lastUsed", "expires"]);
    assert.deepEqual([newest.platform, newest.created], ["test", date(test.now())]);

    const other = await test.signUp();
    assertGone(await ask(`DELETE /users/${other.id}/tokens/${newest.id}`));
    assertResult(await ask(`DELETE /users/${jane.id}/tokens/${newest.id}`), 200, true);
    assertGone(await ask(`DELETE /users/${jane.id}/tokens/${newest.id}`));
    assert.equal((await test.call("GET /users/me", { token: accessToken })).status, 401);
    assert.equal((await test.call("GET /users/me", { token: jane.token })).status, 200);

    assertResult(await ask(`POST /users/${jane.id}/revoke-tokens`, test.application, {}), 200, true);
    assert.equal((await test.call("GET /users/me", { token: jane.token })).status, 401);
    assert.deepEqual((await ask(`GET /users/${jane.id}/tokens`)).body.result.pageResults, []);
    assert.equal((await ask(`GET /users/${jane.id}`)).body.result.counts.tokens, 0);
    assert.equal((await test.call("GET /users/me", { token: other.token })).status, 200);
    assert.equal((await login(jane)).status, 200);
  });
});

// spec/operators#erase-a-user
describe("DELETE /_/api/applications/{appid}/users/{userId}", () => {
  it("answers 400 without the confirmed id, and deletes nothing", async () => {
    const jane = await test.signUp();
    const missing = await ask(`DELETE /users/${jane.id}`);
    assertError(missing, 400, "ParameterMissingRequiredValue", 513, "confirm is required.");
    for (const confirm of ["true", jane.userName, test.app.ids.newId("User"), jane.id.toUpperCase()]) {
      const wrong = await ask(`DELETE /users/${jane.id}?confirm=${encodeURIComponent(confirm)}`);
      assertError(wrong, 400, "ParameterOutOfRange", 514, "confirm must be the id of the user.");
    }
    assert.equal((await test.call("GET /users/me", { token: jane.token })).status, 200);
  });

  it("erases everything that the user owns, also of a disabled user; the tokens are revoked, and the name is free", async () => {
    const jane = await test.signUp();
    for (let n = 0; n < 3; n += 1) await test.call("POST /checkins", { token: jane.token, body: { location: "1,2" } });
    await test.call("PUT /metadata/me/key", { token: jane.token, body: { value: 1 } });
    await ask(`POST /users/${jane.id}/disable`, test.application, {});
    assertResult(await ask(`DELETE /users/${jane.id}`, test.application, { confirm: jane.id }), 200, true);
    assert.equal((await test.call("GET /users/me", { token: jane.token })).status, 401);
    for (const table of ["users", "checkins", "metadata", "user_tokens"] as const) {
      const rows = await test.app.database.reads.selectFrom(table).selectAll().execute();
      assert.ok(!JSON.stringify(rows).includes(jane.id), table);
    }
    assertGone(await ask(`DELETE /users/${jane.id}?confirm=${jane.id}`));
    await test.signUp(jane.userName);
  });

  it("succeeds for only one of many concurrent requests", async () => {
    const jane = await test.signUp();
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => ask(`DELETE /users/${jane.id}?confirm=${jane.id}`)),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array(7).fill(404)]);
  });
});
