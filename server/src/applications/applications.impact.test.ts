import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { assertError, assertResult, startTestApp, type TestApp } from "../../test/harness.ts";

let test: TestApp;
let operator: string;
before(async () => {
  test = await startTestApp();
  operator = (await test.createOperator()).token;
});
after(() => test.close());

const hourMs = 3_600_000;
const none = { count: 0, isMore: false };
const some = (count: number, isMore = false) => ({ count, isMore });

function ask(path: string, appid = test.application.appid) {
  return test.call(`GET /_/api/applications/${appid}${path}`, { token: operator });
}

async function keyOf(appid: string): Promise<string> {
  return (await ask("/keys", appid)).body.result.pageResults[0].id;
}

// spec/operators#impact
describe("the reported impact of revoking tokens", () => {
  const [iOS, named] = [
    { platform: "iOS", devices: 1 },
    { platform: "test", devices: 2 },
  ];

  it("counts devices, valid tokens, active devices and their versions, for a key, the application and a user", async () => {
    const application = await test.createApplication();
    const { appid } = application;
    const first = await keyOf(appid);
    const ended = {
      devices: none,
      userTokens: none,
      activeLastHour: none,
      activeLastDay: none,
      appVersions: [],
      platforms: [],
    };
    for (const path of ["/impact", `/keys/${first}/impact`]) assertResult(await ask(path, appid), 200, ended);

    const jane = await test.signUp("Jane", application);
    await test.call("PATCH /devices/current", { token: jane.deviceToken, body: { appVersion: "1.0" } });
    test.advance(5 * hourMs);
    const body = { username: "Jane", password: jane.password };
    const second = (await test.call("POST /devices", { body: { ...application, platform: "iOS", appVersion: "1.1" } }))
      .body;
    await test.call("POST /users/login", { token: second.result.accessToken, body });
    await test.registerDevice(application);
    const platforms = [iOS, named];
    const versions = [{ devices: 1 }, { appVersion: "1.0", devices: 1 }, { appVersion: "1.1", devices: 1 }];
    const all = { devices: some(3), userTokens: some(2), activeLastHour: some(2), activeLastDay: some(3) };
    for (const path of ["/impact", `/keys/${first}/impact`]) {
      assertResult(await ask(path, appid), 200, { ...all, appVersions: versions, platforms: platforms.toReversed() });
    }
    const ofJane = { devices: some(2), userTokens: some(2), activeLastHour: some(1), activeLastDay: some(2) };
    assertResult(await ask(`/users/${jane.id}/impact`, appid), 200, {
      ...{ ...ofJane, appVersions: versions.slice(1), platforms: [iOS, { ...named, devices: 1 }] },
    });

    const other = (await test.call(`POST /_/api/applications/${appid}/keys`, { token: operator, body: {} })).body
      .result;
    assertResult(await ask(`/keys/${other.id}/impact`, appid), 200, ended);
    assertResult(await ask("/impact"), 200, ended);
  });

  it("is limited to 1,000 devices, and reports the limit", async () => {
    const application = await test.createApplication();
    const { appid } = application;
    await test.registerDevice(application);
    const { reads } = test.app.database;
    const found = reads.selectFrom("devices").selectAll().where("application_id", "=", appid);
    const device = await found.executeTakeFirstOrThrow();
    for (let start = 0; start < 1_200; start += 300) {
      const devices = Array.from({ length: 300 }, () => ({ ...device, id: test.app.ids.newId("Device") }));
      await test.app.database.write(({ queries }) => queries.insertInto("devices").values(devices).execute());
    }
    const most = some(1_000, true);
    for (const path of ["/impact", `/keys/${await keyOf(appid)}/impact`]) {
      const { devices, activeLastHour, activeLastDay, appVersions } = (await ask(path, appid)).body.result;
      assert.deepEqual([devices, activeLastHour, activeLastDay], [most, most, most]);
      assert.deepEqual(appVersions, [{ devices: 1_000 }]);
    }
  });
});

// spec/operators#last-use-of-devices
describe("the time of a device's last activity", () => {
  it("is stored once an hour, for device and user tokens and for another registration", async () => {
    const jane = await test.signUp();
    const { deviceID } = (await test.call("GET /users/me/tokens", { token: jane.token })).body.result.pageResults[0];
    const lastSeen = async () => {
      await test.app.tokenUses.save();
      return (await ask(`/devices/${deviceID}`)).body.result.lastSeen;
    };
    const registered = test.now();
    assert.equal(await lastSeen(), `/Date(${registered})/`);
    test.advance(hourMs - 1);
    await test.call("GET /devices/current", { token: jane.deviceToken });
    assert.equal(await lastSeen(), `/Date(${registered})/`);
    test.advance(1);
    await test.call("GET /devices/current", { token: jane.deviceToken });
    assert.equal(await lastSeen(), `/Date(${registered + hourMs})/`);
    test.advance(2 * hourMs);
    await test.call("GET /users/me", { token: jane.token });
    assert.equal(await lastSeen(), `/Date(${registered + 3 * hourMs})/`);
  });
});

// spec/operators#application-keys
describe("PATCH /_/api/applications/{appid}/keys/{keyId}", () => {
  it("changes and trims the label, even of a retired key; an invalid label and an unknown key are refused", async () => {
    const { appid } = await test.createApplication();
    const keyId = await keyOf(appid);
    const change = (id: string, body: object) =>
      test.call(`PATCH /_/api/applications/${appid}/keys/${id}`, { token: operator, body });
    const { body } = await change(keyId, { label: " Version 1.x " });
    assert.equal(body.result.label, "Version 1.x");
    assert.equal((await ask("/keys", appid)).body.result.pageResults[0].label, "Version 1.x");
    const confirmed = { token: operator, body: { confirm: keyId } };
    await test.call(`POST /_/api/applications/${appid}/keys/${keyId}/retire`, confirmed);
    const { state, label } = (await change(keyId, { label: "old" })).body.result;
    assert.deepEqual([state, label], ["retired", "old"]);
    const rule = "label must have 1 to 256 characters, none of them a line break or a control character.";
    for (const wrong of [" ", "a\nb"]) {
      assertError(await change(keyId, { label: wrong }), 400, "ParameterOutOfRange", 514, rule);
    }
    assert.equal((await change(keyId, {})).body.error, "ParameterMissingRequiredValue");
    assert.equal((await change(await keyOf(test.application.appid), { label: "x" })).body.error, "ItemDoesNotExist");
  });
});
