import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { assertError, assertResult, startTestApp, type TestApp } from "../../test/harness.ts";
import { maintain } from "../app/maintenance.ts";
import { listApplications, updateApplicationDeleted } from "./applications.store.ts";

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

interface Item {
  readonly id: string;
  readonly name: string;
}

function list(query = "", by = token) {
  return test.call(`GET /_/api/applications${query}`, { token: by });
}

describe("GET /_/api/applications", () => {
  it("lists the live applications, oldest first, without secrets and without deleted applications", async () => {
    const times = [test.now()];
    test.advance(1_000);
    const gone = await test.createApplication("Gone");
    test.advance(60_000); // later than the start of the other process, also on a slow machine
    const second = await test.createApplication("<b>Sécond</b>");
    times.push(test.now());
    await test.app.database.write(({ queries }) => updateApplicationDeleted(gone.appid, test.now(), queries));

    const answer = await list();
    const { currentToken } = answer.body.result;
    const pageResults = [
      { id: test.application.appid, name: "Test", created: `/Date(${times[0]})/` },
      { id: other.application.appid, name: "Test", created: `/Date(${other.now()})/` },
      { id: second.appid, name: "<b>Sécond</b>", created: `/Date(${times[1]})/` },
    ];
    assertResult(answer, 200, { pageResults, currentToken });
  });

  // spec/operators#listed-applications
  it("filters applications by name prefix and state, and sorts them by name", async () => {
    const made: string[] = [];
    for (const name of ["zz b", "zz a", "zz%", "Zz"]) made.push((await test.createApplication(name)).appid);
    const [b, a, percent, upper] = made;
    const find = async (query: string) => (await list(`?${query}`)).body.result.pageResults.map(({ id }: Item) => id);
    assert.deepEqual(await find("namePrefix=zZ"), [b, a, percent, upper]);
    assert.deepEqual(await find("namePrefix=zz%20&sortOrder=name"), [a, b]);
    assert.deepEqual(await find("namePrefix=zz&sortOrder=-name"), [percent, b, a, upper]);
    assert.deepEqual(await find("namePrefix=%25"), []);
    await test.call(`POST /_/api/applications/${a}/suspend`, { token });
    assert.deepEqual(await find("namePrefix=zz&state=suspended"), [a]);
    assert.deepEqual(await find("namePrefix=zz&state=active"), [b, percent, upper]);
    assert.deepEqual(await find("namePrefix=zz&state=moving"), []);
    const { nextToken } = (await list("?namePrefix=zz%20&sortOrder=name&pageSize=1")).body.result;
    assert.deepEqual(await find(`pagingToken=${nextToken}`), [b]);
  });

  // spec/operators#listed-applications
  it("lists the applications with the most calls in the last minutes, on one page", async () => {
    const [quiet, busy, busier] = [
      await test.createApplication("Calls: none"),
      await test.createApplication("Calls: few"),
      await test.createApplication("Calls: more"),
    ];
    await test.registerDevice(busy);
    for (let n = 0; n < 3; n += 1) await test.registerDevice(busier);
    await test.app.statistics.save();
    const find = async (query: string) => {
      const { pageResults, nextToken } = (await list(`?sortOrder=busiest&${query}`)).body.result;
      assert.equal(nextToken, undefined);
      return pageResults.map(({ id }: Item) => id);
    };
    assert.deepEqual(await find("namePrefix=calls"), [busier.appid, busy.appid]);
    assert.deepEqual(await find("namePrefix=calls&pageSize=1"), [busier.appid]);
    assert.ok(!(await find("")).includes(quiet.appid));
    await test.call(`POST /_/api/applications/${busier.appid}/suspend`, { token });
    assert.deepEqual(await find("namePrefix=calls&state=active"), [busy.appid]);
    test.advance(16 * 60_000);
    assert.deepEqual(await find("namePrefix=calls"), []);
  });

  it("pages in both directions, even among applications with equal times", async () => {
    for (let n = 0; n < 5; n += 1) await test.createApplication(`of one moment ${n}`);
    const all: Item[] = (await list("?pageSize=100")).body.result.pageResults;
    const walked: Item[] = [];
    let answer = await list("?pageSize=2");
    for (;;) {
      const { pageResults, nextToken } = answer.body.result;
      walked.push(...pageResults);
      if (nextToken === undefined) break;
      answer = await list(`?pagingToken=${nextToken}`);
    }
    assert.deepEqual(walked, all);
    const back = await list(`?pagingToken=${answer.body.result.previousToken}`);
    const lastPage = all.length % 2 === 0 ? 2 : 1;
    assert.deepEqual(back.body.result.pageResults, all.slice(-lastPage - 2, -lastPage));
    assert.deepEqual((await list("?pagingToken=3;1")).body.result.pageResults, all.slice(1, 4));
  });

  it("accepts a page token only from the operator that received it", async () => {
    const { nextToken } = (await list("?pageSize=1")).body.result;
    const other = await test.createOperator();
    const refused = await list(`?pagingToken=${nextToken}`, other.token);
    assertError(refused, 400, "ParameterIncorrectFormat", 515, "pagingToken must be a token of this listing.");
    assert.equal((await list(`?pagingToken=${nextToken}`)).status, 200);
  });
});

const suspended = [403, "AuthAPICallDisabledByDeveloper", 257, "The application is suspended."] as const;
const dead = [401, "AuthAccessTokenInvalid", 261, "Incorrect token type."] as const;
const noItem = [404, "ItemDoesNotExist", 769, "The item does not exist."] as const;

// spec/operators#application-names, spec/operators#deleted-applications
describe("an application, managed by operators", () => {
  it("is created with a key that is shown only once, registers devices, and can be read and renamed", async () => {
    const answer = await test.call("POST /_/api/applications", { token, body: { name: "  Näme 👋 " } });
    const { appid, appkey, keyId } = answer.body.result;
    assert.match(appid, /^app_[0-9a-z]{26}$/);
    assert.match(appkey, /^rk_[\w-]{43}$/);
    const created = `/Date(${test.now()})/`;
    assert.match(keyId, /^apk_[0-9a-z]{26}$/);
    assertResult(answer, 201, { appid, appkey, keyId, name: "Näme 👋", created });
    await test.registerDevice({ appid, appkey });

    const path = `/_/api/applications/${appid}`;
    assertResult(await test.call(`GET ${path}`, { token }), 200, { id: appid, name: "Näme 👋", created });
    const renamed = { id: appid, name: "New", created };
    assertResult(await test.call(`PATCH ${path}`, { token, body: { name: "New" } }), 200, renamed);
    assertResult(await test.call(`PATCH ${path}`, { token, body: {} }), 200, renamed);
    assertResult(await test.call(`GET ${path}`, { token }), 200, renamed);
    assert.ok(!JSON.stringify(test.logLines).includes(appkey.slice(3)));
  });

  it("a name has 1 to 256 characters on one line, and clients can set nothing else (hostile.md 9)", async () => {
    const rule = "name must have 1 to 256 characters, none of them a line break or a control character.";
    const { appid } = await test.createApplication("Kept");
    for (const name of ["  ", "a\nb", "a\u0007b", "a\u2028b", "x".repeat(257)]) {
      const body = { name };
      assertError(await test.call("POST /_/api/applications", { token, body }), 400, "ParameterOutOfRange", 514, rule);
      const renaming = await test.call(`PATCH /_/api/applications/${appid}`, { token, body });
      assertError(renaming, 400, "ParameterOutOfRange", 514, rule);
    }
    const missing = await test.call("POST /_/api/applications", { token, body: {} });
    assertError(missing, 400, "ParameterMissingRequiredValue", 513, "name is required.");
    const body = {
      name: "😀".repeat(256),
      id: appid,
      appid,
      appkey: "chosen",
      created: 0,
      suspended: 1,
      token_version: 9,
    };
    const { result } = (await test.call("POST /_/api/applications", { token, body })).body;
    assert.notEqual(result.appid, appid);
    assert.notEqual(result.appkey, "chosen");
    const read = (await test.call(`GET /_/api/applications/${result.appid}`, { token })).body.result;
    assert.deepEqual(read, { id: result.appid, name: body.name, created: `/Date(${test.now()})/` });
  });

  it("is suspended and resumed from the next request on, in every process and repeatedly", async () => {
    const application = await test.createApplication();
    const { appid } = application;
    const user = await test.signUp("Jane", application);
    const me = () => Promise.all([test, other].map((app) => app.call("GET /users/me", { token: user.token })));
    for (const app of [test, other, test]) {
      for (const { status } of await me()) assert.equal(status, 200);
      const at = app.now();
      const answer = await app.call(`POST /_/api/applications/${appid}/suspend`, { token });
      const { created } = answer.body.result;
      assertResult(answer, 200, { id: appid, name: "Test", created, suspended: `/Date(${at})/` });
      for (const refused of await me()) assertError(refused, ...suspended);
      assert.equal((await test.call("POST /devices", { body: { ...application, platform: "x" } })).status, 403);
      assertResult(await app.call(`POST /_/api/applications/${appid}/resume`, { token }), 200, {
        id: appid,
        name: "Test",
        created,
      });
      assert.equal((await app.call(`POST /_/api/applications/${appid}/resume`, { token })).status, 200);
    }
  });

  it("is deleted if its id is repeated: immediately for clients and operators, and its rows in the background", async () => {
    const application = await test.createApplication();
    const { appid } = application;
    const user = await test.signUp("Jane", application);
    for (const app of [test, other]) {
      assert.equal((await app.call("GET /users/me", { token: user.token })).status, 200);
    }
    const path = `DELETE /_/api/applications/${appid}`;
    for (const confirm of ["yes", "true", test.application.appid, `${appid} `, appid.toUpperCase()]) {
      const message = "confirm must be the id of the application.";
      assertError(await test.call(path, { token, body: { confirm } }), 400, "ParameterOutOfRange", 514, message);
    }
    assertError(await test.call(path, { token }), 400, "ParameterMissingRequiredValue", 513, "confirm is required.");
    assert.equal((await test.call("GET /users/me", { token: user.token })).status, 200);

    assertResult(await test.call(path, { token, body: { confirm: appid } }), 200, true);
    for (const app of [test, other]) {
      assertError(await app.call("GET /users/me", { token: user.token }), ...dead);
      assertError(await app.call(`GET /_/api/applications/${appid}`, { token }), ...noItem);
    }
    assertError(await test.call(path, { token, body: { confirm: appid } }), ...noItem);
    await maintain(test.app);
    assert.equal(await isErased(appid), true);
  });

  it("is erased by maintenance if a restart interrupts the deletion, and its id may be confirmed in the query", async () => {
    const { appid } = await test.createApplication();
    const third = await startTestApp({ DATABASE_URL: test.config.databaseUrl });
    const answer = await third.call(`DELETE /_/api/applications/${appid}?confirm=${appid}`, { token });
    await third.close();
    assertResult(answer, 200, true);
    await maintain(test.app);
    assert.equal(await isErased(appid), true);
  });
});

async function isErased(appid: string): Promise<boolean> {
  const applications = await listApplications(test.app.database.reads);
  return applications.every((application) => application.appid !== appid);
}
