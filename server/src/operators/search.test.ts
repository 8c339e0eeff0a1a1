import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { assertError, startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";
import { dataPart, upload } from "../../test/uploads.ts";
import { ownedTableNames } from "../db/owned-tables.ts";

let test: TestApp;
let viewer: string;
let editor: string;
let jane: TestUser;
before(async () => {
  test = await startTestApp();
  viewer = (await test.createOperator("Ada Viewer", "viewer")).token;
  editor = (await test.createOperator("Ed Editor", "editor")).token;
  jane = await test.signUp("Jane Doe", test.application);
});
after(() => test.close());

const none = {
  ...Object.fromEntries(ownedTableNames.map((table) => [table, []])),
  ...{ users: [], devices: [], keys: [], crashes: [], metrics: [], audit: [], requests: [] },
};

async function find(q: string, appid = test.application.appid) {
  return (await test.call(`GET /_/api/applications/${appid}/search?q=${encodeURIComponent(q)}`, { token: viewer })).body
    .result;
}

async function findAnywhere(q: string) {
  return (await test.call(`GET /_/api/search?q=${encodeURIComponent(q)}`, { token: viewer })).body.result;
}

// spec/operators#search-for-anything
describe("GET /_/api/applications/{appid}/search", () => {
  it("finds a user once by id, by prefix of name or address, and by an identity", async () => {
    const byName = { id: jane.id, title: "Jane Doe", match: "name" };
    assert.deepEqual(await find(jane.id), { ...none, users: [{ ...byName, match: "id" }] });
    for (const q of ["jane", " JANE  d", "ＪＡＮＥ"]) assert.deepEqual(await find(q), { ...none, users: [byName] }, q);
    await test.call("PATCH /users/me", { token: jane.token, body: { email: "jane@example.org" } });
    const withAddress = { ...byName, detail: "jane@example.org" };
    for (const q of ["jane@", "Jane@Example.org"]) {
      assert.deepEqual((await find(q)).users, [{ ...withAddress, match: "email" }], q);
    }
    const identity = { identityId: "4711/a" };
    await test.call("POST /users/me/identities/crm", { token: jane.token, body: identity });
    assert.deepEqual((await find("4711/a")).users, [{ ...withAddress, match: "identity" }]);
    assert.deepEqual((await find("4711")).users, [], "identifiers are compared as a whole");
  });

  it("finds users by prefix of their first name, last name or both, in upper and lower case", async () => {
    const application = await test.createApplication();
    const add = async (userName: string, firstName?: string, lastName?: string) => {
      const user = await test.signUp(userName, application);
      const body = { ...(firstName && { firstName }), ...(lastName && { lastName }) };
      await test.call("PATCH /users/me", { token: user.token, body });
      return user;
    };
    const grace = await add("grace101", "Grace", "Hopper");
    await add("hopper.fan", "Harry", "Hope");
    await add("иван7", "Иван", "Кузнецов");
    await add("anna", "Anna Maria", "van Rossum");
    await add("hidden", "Élodie");
    await add("unnamed");
    const namesOf = async (q: string) =>
      (await find(q, application.appid)).users.map(({ title }: { title: string }) => title).toSorted();
    const expected: Readonly<Record<string, readonly string[]>> = {
      ...{ hopp: ["grace101", "hopper.fan"], HOPPER: ["grace101", "hopper.fan"], hopper: ["grace101", "hopper.fan"] },
      ...{ "grace hop": ["grace101"], "Hopper, Gr": ["grace101"], "harry hopper": [], "gr hopper": [] },
      ...{ кузн: ["иван7"], КУЗНЕЦОВ: ["иван7"], "иван кузн": ["иван7"] },
      ...{ "van ross": ["anna"], "anna maria van r": ["anna"], élo: ["hidden"], "%": [], "gr%": [] },
    };
    for (const [q, names] of Object.entries(expected)) assert.deepEqual(await namesOf(q), names, q);
    const [found] = (await find("hopper, grace", application.appid)).users;
    assert.deepEqual(found, { id: grace.id, title: "grace101", detail: "Grace Hopper", match: "personName" });

    const list = async (query: string) => {
      const path = `/_/api/applications/${application.appid}/users?${query}`;
      const { status, body } = await test.call(`GET ${path}`, { token: viewer });
      assert.equal(status, 200, JSON.stringify(body));
      return body.result.pageResults.map(({ userName }: { userName: string }) => userName);
    };
    assert.deepEqual(await list("name=hop&sortOrder=userName"), ["grace101", "hopper.fan"]);
    assert.deepEqual(await list("name=hop&sortOrder=-created&pageSize=1"), ["hopper.fan"]);
    assert.deepEqual(await list("name=grace%20hopper&disabled=true"), []);
    assert.deepEqual(await list("name=%20"), []);
    await test.call("POST /users/me/identities/crm", { token: grace.token, body: { identityId: "K-1" } });
    assert.deepEqual(await list("name=hop&identityProviderID=K-1"), ["grace101"]);
    const path = `/_/api/applications/${application.appid}/users/${grace.id}`;
    await test.call(`DELETE ${path}`, { token: editor, body: { confirm: grace.id } });
    assert.deepEqual(await namesOf("grace"), [], "a deleted user is found no more");

    const { appid } = application;
    const [anywhere] = (await findAnywhere("кузнец")).users;
    const name = (await test.call(`GET /_/api/applications/${appid}`, { token: viewer })).body.result.name;
    const { id: _, ...others } = anywhere;
    const hit = { title: "иван7", detail: "Иван Кузнецов", match: "personName" };
    assert.deepEqual(others, { ...hit, appid, application: name });
  });

  it("finds devices, check-ins, keys, crashes and metrics by id and by prefix of their names", async () => {
    const body = { ...test.application, platform: "iOS", uniqueId: "serial-100" };
    const { accessToken: token } = (await test.call("POST /devices", { body })).body.result;
    const { id: deviceId } = (await test.call("GET /devices/current", { token })).body.result;
    const deviceHit = { id: deviceId, title: "serial-100" };
    assert.deepEqual((await find(deviceId)).devices, [{ ...deviceHit, match: "id" }]);
    assert.deepEqual((await find("serial-1")).devices, [{ ...deviceHit, match: "uniqueId" }]);

    const checkin = { location: "48.2,16.3", comment: "At the square" };
    const { id: checkinId } = (await test.call("POST /checkins", { token: jane.token, body: checkin })).body.result;
    assert.deepEqual((await find(checkinId)).checkins, [{ id: checkinId, title: "At the square", match: "id" }]);

    const keys = `/_/api/applications/${test.application.appid}/keys`;
    const { id: keyId } = (await test.call(`POST ${keys}`, { token: editor, body: { label: "Version 2" } })).body
      .result;
    for (const [q, match] of [
      [keyId, "id"],
      ["vers", "name"],
    ] as const) {
      assert.deepEqual((await find(q)).keys, [{ id: keyId, title: "Version 2", match }]);
    }

    const crash = { stackTrace: "Error: late\n    at app.js:1:1" };
    const report = (await test.call("POST /devices/current/crashreports", { token, body: crash })).body.result;
    const [byReport] = (await find(report.id)).crashes;
    assert.equal(byReport.title, "Error: late");
    assert.deepEqual((await find(byReport.id)).crashes, [byReport]);

    await test.call("POST /metrics/events", {
      token,
      body: { events: [{ key: "level.done" }, { key: "level.lost" }] },
    });
    await test.app.compactor.compact(test.application.appid);
    const metrics = ["level.done", "level.lost"].map((id) => ({ id, match: "name" }));
    assert.deepEqual((await find("level.")).metrics, metrics);
  });

  it("finds the effects of a request by its id, and the request itself", async () => {
    const path = `/_/api/applications/${test.application.appid}/users/${jane.id}`;
    const disabled = await test.call(`POST ${path}/disable`, { token: editor, body: {} });
    await test.call(`POST ${path}/enable`, { token: editor, body: {} });
    const [entry, ...others] = (await find(disabled.body.request_id)).audit;
    assert.deepEqual([entry.title, entry.match, others], ["disableUser", "requestId", []]);
    assert.deepEqual((await find(entry.id)).audit, [{ ...entry, match: "id" }]);
    const refused = await test.call("GET /checkins/chk_1", { token: jane.token });
    const { requests } = await find(refused.body.request_id);
    assert.deepEqual(requests, [{ id: refused.body.request_id, title: "getCheckin", match: "requestId" }]);
  });

  it("finds at most ten objects per kind, and none of another application, for any text", async () => {
    const other = await test.createApplication();
    for (let n = 0; n < 11; n++) await test.signUp(`many ${n}`, other);
    const { users, ...rest } = await find("many", other.appid);
    assert.equal(users.length, 10);
    assert.deepEqual({ users: [], ...rest }, none);
    assert.deepEqual(await find("many"), none);
    assert.deepEqual(await find(jane.id, other.appid), none);
    for (const q of ["%", "\u{200B}", "_", "'", "\u{10FFFF}", "x".repeat(320)])
      assert.deepEqual(await find(q), none, q);
  });

  it("refuses an empty text, 321 characters, and an application that does not exist", async () => {
    const path = (q: string, appid = test.application.appid) => `GET /_/api/applications/${appid}/search${q}`;
    for (const q of ["", "?q="]) {
      const answer = await test.call(path(q), { token: viewer });
      assert.equal(answer.body.error, "ParameterMissingRequiredValue");
    }
    const long = await test.call(path(`?q=${"x".repeat(321)}`), { token: viewer });
    assertError(long, 400, "ParameterOutOfRange", 514, "q must have at most 320 characters.");
    const gone = await test.call(path("?q=x", test.app.ids.newId("App")), { token: viewer });
    assert.equal(gone.body.error, "ItemDoesNotExist");
  });
});

// spec/operators#search-for-anything
describe("GET /_/api/search", () => {
  it("finds applications and operators by id and name, regardless of case, and entries of the audit log", async () => {
    const { operatorName } = await nameOperator();
    const created = await test.call("POST /_/api/applications", {
      token: editor,
      body: { name: "Ärzte & Field Notes" },
    });
    const { appid } = created.body.result;
    const hit = { id: appid, title: "Ärzte & Field Notes", match: "name" };
    assert.deepEqual((await findAnywhere("ÄRZTE & field")).applications, [hit]);
    assert.deepEqual((await findAnywhere("ärzte")).applications, [], "only the letters A to Z have a case here");
    assert.deepEqual((await findAnywhere(appid)).applications, [{ ...hit, match: "id" }]);
    const [operator] = (await findAnywhere(operatorName.toUpperCase())).operators;
    assert.equal(operator.title, operatorName);
    assert.deepEqual((await findAnywhere(operator.id)).operators, [{ ...operator, match: "id" }]);
    const [entry] = (await findAnywhere(created.body.request_id)).audit;
    assert.equal(entry.title, "createApplication");
  });
});

// spec/operators#search-for-anything
describe("GET /_/api/search by the id of an object", () => {
  it("names the application that a user, device, key, webhook, check-in or file belongs to", async () => {
    const application = await test.createApplication("Owner of ids");
    const user = await test.signUp("Ada", application);
    const { token } = user;
    const { id: deviceId } = (await test.call("GET /devices/current", { token })).body.result;
    const { id: checkinId } = (await test.call("POST /checkins", { token, body: { location: "1,2" } })).body.result;
    const { id: locationId } = (await test.call("POST /locations", { token, body: { name: "Here", location: "1,2" } }))
      .body.result;
    const { id: fileId } = await upload(test, token, "/blobs", dataPart("x"));
    const own = `/_/api/applications/${application.appid}`;
    const { id: keyId } = (await test.call(`POST ${own}/keys`, { token: editor, body: {} })).body.result;
    const hook = { url: "https://8.8.8.8/hook", types: ["checkin.*"] };
    const { id: webhookId } = (await test.call(`POST ${own}/webhooks`, { token: editor, body: hook })).body.result;
    for (const id of [user.id, deviceId, checkinId, locationId, fileId, keyId, webhookId]) {
      const { applications } = await findAnywhere(id);
      assert.deepEqual(applications, [{ id: application.appid, title: "Owner of ids", match: "object" }]);
    }
    for (const text of [test.app.ids.newId("User"), user.id.slice(0, -1)]) {
      assert.deepEqual((await findAnywhere(text)).applications, [], text);
    }
    await test.call(`DELETE ${own}/users/${user.id}`, { token: editor, body: { confirm: user.id } });
    assert.deepEqual((await findAnywhere(user.id)).applications, []);
  });
});

async function nameOperator() {
  const owner = (await test.createOperator()).token;
  const operatorName = "grace of support";
  await test.call("POST /_/api/operators", { token: owner, body: { name: operatorName, role: "viewer" } });
  return { operatorName };
}

// spec/operators#listed-applications
describe("GET /_/api/applications", () => {
  it("compares and sorts names regardless of the case of A to Z", async () => {
    for (const name of ["zebra b", "Zebra a", "zebra C"]) {
      await test.call("POST /_/api/applications", { token: editor, body: { name } });
    }
    const list = async (query: string) =>
      (await test.call(`GET /_/api/applications?${query}`, { token: viewer })).body.result;
    const first = await list("namePrefix=ZEBRA&sortOrder=name&pageSize=2");
    const second = await list(`namePrefix=ZEBRA&sortOrder=name&pageSize=2&pagingToken=${first.nextToken}`);
    const names = [first, second].flatMap(({ pageResults }) => pageResults.map(({ name }: { name: string }) => name));
    assert.deepEqual(names, ["Zebra a", "zebra b", "zebra C"]);
  });
});
