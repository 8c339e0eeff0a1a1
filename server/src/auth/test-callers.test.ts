// spec/operators#test-devices-and-users
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startTestApp, type TestApp } from "../../test/harness.ts";
import { createUpload, pathOf, sendBytes } from "../../test/tus.ts";
import { maintain } from "../app/maintenance.ts";

let test: TestApp;
let token: string;
let api: string;
before(async () => {
  test = await startTestApp();
  token = (await test.createOperator("Editor", "editor")).token;
  api = `/_/api/applications/${test.application.appid}`;
});
after(() => test.close());

interface Made {
  readonly id: string;
  readonly accessToken: string;
  readonly accessTokenExpires: string;
}

async function make(kind: "test-devices" | "test-users"): Promise<Made> {
  const { status, body } = await test.call(`POST ${api}/${kind}`, { token });
  assert.equal(status, 201, JSON.stringify(body));
  return body.result;
}

async function read(path: string) {
  return (await test.call(`GET ${api}${path}`, { token })).body;
}

describe("test devices and users", () => {
  it("call the application for an hour, are tagged, and count for no key", async () => {
    const [device, user] = [await make("test-devices"), await make("test-users")];
    for (const { accessTokenExpires } of [device, user])
      assert.equal(accessTokenExpires, `/Date(${test.now() + 3_600_000})/`);
    const own = await test.call("GET /devices/current", { token: device.accessToken });
    assert.deepEqual([own.body.result.id, own.body.result.tag], [device.id, "console-test"]);
    const { result: shown } = await read(`/devices/${device.id}`);
    assert.deepEqual([shown.keyID, shown.registered], [undefined, undefined]);
    const { body: me } = await test.call("GET /users/me", { token: user.accessToken });
    assert.deepEqual([me.result.id, me.result.tag, me.result.celebMode], [user.id, "console-test", true]);
    test.advance(3_600_000);
    for (const { accessToken } of [device, user]) {
      const { body } = await test.call("GET /devices/current", { token: accessToken });
      assert.equal(body.error, "AuthAccessTokenInvalid");
    }
  });

  it("are created by editors, and recorded in the audit log without their token", async () => {
    const viewer = (await test.createOperator("Viewer", "viewer")).token;
    const { body } = await test.call(`POST ${api}/test-users`, { token: viewer });
    assert.equal(body.error, "ObjectPermissionDenied");
    const { id, accessToken } = await make("test-users");
    const { body: log } = await test.call(`GET /_/api/audit?target=${id}`, { token });
    assert.deepEqual(
      log.result.pageResults.map(({ action }: { action: string }) => action),
      ["createTestUser"],
    );
    assert.ok(!JSON.stringify(log).includes(accessToken));
  });

  it("do not count in the statistics, and neither do users who sign in on their devices", async () => {
    const { appid } = await test.createApplication();
    const path = `/_/api/applications/${appid}`;
    const { body } = await test.call(`POST ${path}/test-devices`, { token });
    const { accessToken } = body.result;
    const signUp = { username: "Tessa", password: "a password" };
    const { body: signedUp } = await test.call("POST /users", { token: accessToken, body: signUp });
    const renewed = await test.call("POST /users/me/logout", { token: signedUp.result.accessToken });
    for (const each of [accessToken, renewed.body.result.accessToken])
      assert.equal((await test.call("GET /devices/current", { token: each })).status, 200);
    const { result: user } = (await test.call(`POST ${path}/test-users`, { token })).body;
    for (const each of [user.accessToken, renewed.body.result.accessToken, signedUp.result.accessToken]) {
      const answer = await createUpload(test, each, 5);
      if (answer.status !== 201) continue; // revoked by the renewal
      const sent = await sendBytes(test, each, pathOf(answer), 0, "bytes");
      assert.equal(sent.status, 204, sent.text);
    }
    const { result: overview } = (await test.call(`GET ${path}/overview`, { token })).body;
    const { devices, users } = overview.totals;
    assert.deepEqual([devices.count, users.count], [0, 1]); // Tessa
    const { body: impact } = await test.call(`GET ${path}/impact`, { token });
    assert.deepEqual([impact.result.devices.count, impact.result.platforms], [0, []]);
    const { body: listed } = await test.call("GET /_/api/applications?include=activity&pageSize=1000", { token });
    const { activity } = listed.result.pageResults.find(({ id }: { id: string }) => id === appid);
    assert.deepEqual([activity.devices.count, activity.users.count], [0, 1]);
    await test.app.statistics.save();
    const series = "calls,signUps,files,bytes,newUsers";
    const { body: statistics } = await test.call(`GET ${path}/statistics?series=${series}`, { token });
    const points: { value: number }[] = statistics.result.series.flatMap((each: { points: unknown }) => each.points);
    assert.equal(
      points.reduce((sum, { value }) => sum + value, 0),
      0,
    );
  });

  it("are limited to 20 of each kind: another one revokes the oldest", async () => {
    const { appid } = await test.createApplication();
    const tokens: string[] = [];
    for (let n = 0; n < 22; n += 1) {
      const { body } = await test.call(`POST /_/api/applications/${appid}/test-devices`, { token });
      tokens.push(body.result.accessToken);
      test.advance(1);
    }
    const statuses = [];
    for (const each of tokens) statuses.push((await test.call("GET /devices/current", { token: each })).status);
    assert.deepEqual(statuses, [401, 401, ...Array(20).fill(200)]);
  });

  it("are erased after a day with all data that they have sent", async () => {
    const { id: deviceId, accessToken: deviceToken } = await make("test-devices");
    const { id: userId, accessToken } = await make("test-users");
    const jane = await test.signUp("jane");
    const report = { stackTrace: "Error: x\n at f (a.js:1:1)" };
    for (const each of [deviceToken, jane.deviceToken]) {
      const { status } = await test.call("POST /devices/current/crashreports", { token: each, body: report });
      assert.ok(status < 300);
    }
    await test.call("POST /checkins", { token: accessToken, body: { location: "48,16" } });
    await test.call("POST /users", { token: deviceToken, body: { username: "Stays", password: "a password" } });
    test.advance(86_400_000);
    await maintain(test.app);
    token = (await test.createOperator("Later", "editor")).token; // the session has expired
    for (const path of [`/devices/${deviceId}`, `/users/${userId}`])
      assert.equal((await read(path)).error, "ItemDoesNotExist", path);
    const { result } = await read("/crashes");
    assert.equal(result.pageResults[0].devices, 1);
    const { rows } = await countCallers(test);
    assert.equal(rows, 0);
    assert.equal((await read("/users?userNamePrefix=Stays")).result.pageResults.length, 1);
  });

  it("require a key that can register devices", async () => {
    const { appid } = await test.createApplication();
    const keys = `/_/api/applications/${appid}/keys`;
    const { body } = await test.call(`GET ${keys}`, { token });
    const [{ id }] = body.result.pageResults;
    await test.call(`POST ${keys}/${id}/retire`, { token, body: { confirm: id } });
    const refused = await test.call(`POST /_/api/applications/${appid}/test-devices`, { token });
    assert.equal(refused.body.error, "ItemDoesNotExist");
  });
});

async function countCallers({ app, application }: TestApp): Promise<{ rows: number }> {
  const found = await app.database.reads
    .selectFrom("test_callers")
    .select("device_id")
    .where("application_id", "=", application.appid)
    .where("ends_at", "<=", app.clock.now())
    .execute();
  return { rows: found.length };
}
