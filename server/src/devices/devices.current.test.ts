import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Answer, assertError, assertResult, startTestApp, type TestApp } from "../../test/harness.ts";

let test: TestApp;
before(async () => {
  test = await startTestApp();
});
after(() => test.close());

/** All fields that an app may report about its device. */
const reported = {
  model: "Phone 7",
  osVersion: "19.2",
  appVersion: "3.1.4",
  pushToken: "push/token+==",
  tag: "beta",
  location: { lat: 48.2082, lng: -16.3738 },
  connectionType: "Wifi",
  isProduction: true,
};
const texts = ["model", "osVersion", "appVersion", "pushToken", "tag"];

async function register(body: Record<string, unknown> = {}): Promise<string> {
  const answer = await test.call("POST /devices", { body: { ...test.application, platform: "test", ...body } });
  assert.equal(answer.status, 201, answer.text);
  assert.deepEqual(Object.keys(answer.body.result), ["accessToken", "accessTokenExpires"]);
  return answer.body.result.accessToken;
}

function get(token: string): Promise<Answer> {
  return test.call("GET /devices/current", { token });
}

function change(token: string, body: unknown): Promise<Answer> {
  return test.call("PATCH /devices/current", { token, body });
}

/** The expected response of GET /devices/current for a device with these fields, with the id of the actual response. */
function device({ body }: Answer, fields: Record<string, unknown> = {}) {
  assert.match(body.result.id, /^dev_[0-9a-z]+$/);
  const now = `/Date(${test.now()})/`;
  return { id: body.result.id, platform: "test", created: now, lastModified: now, ...fields };
}

async function assertReported(token: string, fields: Record<string, unknown>): Promise<void> {
  const answer = await get(token);
  assertResult(answer, 200, device(answer, fields));
}

describe("GET /devices/current: spec/devices#read-and-change-the-device", () => {
  it("answers 200 with the device of the token, without unreported fields", async () => {
    await assertReported(await register(), {});
    await assertReported(await register({ uniqueId: "bare" }), { uniqueId: "bare" });
  });

  it("returns for a user token the device on which the user signed in", async () => {
    const { token, deviceToken } = await test.signUp();
    assertResult(await get(token), 200, (await get(deviceToken)).body.result);
  });

  it("never returns a device of another application, even with the same uniqueId", async () => {
    const other = await test.createApplication();
    const mine = await register({ uniqueId: "shared", ...reported });
    const theirs = await register({ uniqueId: "shared", ...other });
    await assertReported(theirs, { uniqueId: "shared" });
    await change(theirs, { model: "theirs", tag: "" });
    await assertReported(mine, { uniqueId: "shared", ...reported });
    assert.notEqual((await get(mine)).body.result.id, (await get(theirs)).body.result.id);
  });
});

describe("device fields of POST /devices: spec/devices#register", () => {
  it("are all stored", async () => {
    await assertReported(await register(reported), reported);
  });

  it("match in any case, with deviceToken as an alias of pushToken; the documented name takes precedence", async () => {
    const other = { MODEL: "m", osversion: "o", APPversion: "a", DeviceToken: "p", isproduction: false };
    const kept = { model: "m", osVersion: "o", appVersion: "a", pushToken: "p", isProduction: false };
    await assertReported(await register(other), kept);
    await assertReported(await register({ pushToken: "push", deviceToken: "device" }), { pushToken: "push" });
    await assertReported(await register({ deviceToken: "device", pushToken: "push" }), { pushToken: "push" });
  });

  it("are accepted in every form: strings for numbers, booleans and locations, numbers for booleans, and choices in any case", async () => {
    const kept = { uniqueId: "4711", model: "7", osVersion: "19.2", tag: "12345678901234567890" };
    const { appid, appkey } = test.application;
    const body = `{"appid":"${appid}","appkey":"${appkey}","platform":"test","uniqueId":4711,"model":7,
      "osVersion":19.2,"tag":12345678901234567890,"location":"-90, 180","connectionType":"wIFI","isProduction":"0"}`;
    const token = (await test.call("POST /devices", { body })).body.result.accessToken;
    const others = { location: { lat: -90, lng: 180 }, connectionType: "Wifi", isProduction: false };
    await assertReported(token, { ...kept, ...others });
    for (const [sent, isProduction] of [
      [true, true],
      ["TRUE", true],
      [1, true],
      ["1", true],
      [false, false],
      ["false", false],
      [0, false],
    ]) {
      await assertReported(await register({ isProduction: sent }), { isProduction });
    }
    for (const connectionType of ["Unknown", "Carrier", "Wifi"]) {
      await assertReported(await register({ connectionType }), { connectionType });
    }
  });

  it("are absent if they are null or empty strings", async () => {
    for (const nothing of [null, ""]) {
      const fields = Object.fromEntries(Object.keys(reported).map((name) => [name, nothing]));
      await assertReported(await register(fields), {});
    }
  });

  it("replace the given fields in a second registration and no others; the earlier token stays valid", async () => {
    const first = await register({ uniqueId: "kept", ...reported });
    const second = await register({ uniqueId: "kept", tag: null, model: "" });
    const { pushToken: _, ...shown } = reported; // visible only to the token that set it
    await assertReported(first, { uniqueId: "kept", ...reported });
    await assertReported(second, { uniqueId: "kept", ...shown });
    const fields = { location: { lat: 0, lng: 0 }, connectionType: "Unknown", isProduction: false, osVersion: "20" };
    await register({ uniqueId: "kept", ...fields });
    await assertReported(first, { uniqueId: "kept", ...reported, ...fields });
  });

  it("are all stored when a hundred concurrent registrations of one uniqueId each send one field", async () => {
    const fields = Object.entries(reported);
    const each = Array.from({ length: 100 }, (_, n) => Object.fromEntries([fields[n % fields.length] ?? []]));
    const tokens = await Promise.all(each.map((field) => register({ uniqueId: "storm", ...field })));
    const { pushToken: _, ...shown } = reported; // visible only to the token that set it
    await assertReported(tokens[0] ?? "", { uniqueId: "storm", ...shown });
    const { token: operator } = await test.createOperator();
    const { id } = (await get(tokens[0] ?? "")).body.result;
    const operated = await test.call(`GET /_/api/applications/${test.application.appid}/devices/${id}`, {
      token: operator,
    });
    assert.equal(operated.body.result.pushToken, reported.pushToken);
    const ids = await Promise.all(tokens.map(async (token) => (await get(token)).body.result.id));
    assert.equal(new Set(ids).size, 1);
  });
});

// spec/devices#push-tokens
describe("the push token of a device", () => {
  it("is visible to the token that set it, and to no token from another registration, sign-in or logout", async () => {
    const uniqueId = "known to others";
    const read = async (token: string) => (await get(token)).body.result.pushToken;
    const first = await register({ uniqueId, pushToken: "one" });
    const guest = await register({ uniqueId });
    assert.deepEqual([await read(first), await read(guest)], ["one", undefined]);
    const body = { username: "Push", password: "password" };
    const user = (await test.call("POST /users", { token: first, body })).body.result.accessToken;
    assert.equal(await read(user), undefined);

    const changed = await change(user, { pushToken: "two" });
    assert.equal(changed.body.result.pushToken, "two");
    assert.deepEqual([await read(first), await read(guest), await read(user)], [undefined, undefined, "two"]);
    // A token that cannot read it can still change other fields, and write the device back as it read it.
    const back = await change(guest, { ...(await get(guest)).body.result, model: "M" });
    assert.deepEqual([back.status, back.body.result.model, back.body.result.pushToken], [200, "M", undefined]);
    assert.equal(await read(user), "two");
    const out = (await test.call("POST /users/me/logout", { token: user })).body.result.accessToken;
    assert.equal(await read(out), undefined);
    await change(guest, { pushToken: "" });
    for (const token of [first, guest, out]) assert.equal(await read(token), undefined);
    assert.equal(await read(await register({ uniqueId, deviceToken: "three" })), "three");
  });
});

describe("PATCH /devices/current: spec/devices#read-and-change-the-device", () => {
  it("answers 200 with the changed device, without changing omitted fields", async () => {
    const token = await register({ uniqueId: "patched" });
    const created = `/Date(${test.now()})/`;
    const kept: Record<string, unknown> = { uniqueId: "patched", created };
    for (const [name, value] of Object.entries(reported)) {
      test.advance(1_000);
      kept[name] = value;
      const answer = await change(token, { [name]: value });
      assertResult(answer, 200, device(answer, kept));
      assertResult(await get(token), 200, answer.body.result);
    }
  });

  it("accepts deviceToken for pushToken, and every form of a value", async () => {
    const { token } = await test.signUp();
    const sent = { DEVICETOKEN: 42, location: "1,2", connectiontype: "carrier", IsProduction: "False" };
    const answer = await change(token, sent);
    const kept = { pushToken: "42", location: { lat: 1, lng: 2 }, connectionType: "Carrier", isProduction: false };
    assertResult(answer, 200, device(answer, kept));
  });

  it("clears a string field with an empty string; null, and an empty string for other types, count as absent", async () => {
    const token = await register(reported);
    const nothing = Object.fromEntries(Object.keys(reported).map((name) => [name, null]));
    const unchanged = await change(token, nothing);
    assertResult(unchanged, 200, device(unchanged, reported));
    const { location, connectionType, isProduction } = reported;
    const answer = await change(token, Object.fromEntries(Object.keys(reported).map((name) => [name, ""])));
    assertResult(answer, 200, device(answer, { location, connectionType, isProduction }));
  });

  it("answers 200 without any parameter, with an empty body and without a body", async () => {
    const token = await register(reported);
    for (const body of [{}, "", undefined]) {
      const answer = await change(token, body);
      assertResult(answer, 200, device(answer, reported));
    }
  });

  it("accepts the complete device, and ignores fields that the service sets, whatever their type", async () => {
    const token = await register({ uniqueId: "echo", ...reported });
    const { result } = (await get(token)).body;
    assertResult(await change(token, result), 200, result);
    const set = { id: "dev_mine", created: [], lastModified: {}, platform: 7, uniqueId: {}, token_version: 9 };
    assertResult(await change(token, { ...set, application_id: "app_other", unique_id: "x" }), 200, result);
    assertResult(await get(token), 200, result);
  });

  it("stores strings of up to 256 characters unchanged, and a push token of up to 4,096", async () => {
    const token = await register();
    for (const text of ["__proto__", "'; drop table devices --", "%_\\", `e${"\u0301".repeat(255)}`, "𝒳".repeat(256)]) {
      const fields = Object.fromEntries(texts.map((name) => [name, text]));
      const answer = await change(token, fields);
      assertResult(answer, 200, device(answer, fields));
    }
    await change(token, { pushToken: "x".repeat(4_096) });
    assert.equal((await get(token)).body.result.pushToken, "x".repeat(4_096));
  });

  it("loses no concurrent change of another field and no registration", async () => {
    const token = await register({ uniqueId: "busy" });
    const fields = Object.entries(reported);
    await Promise.all(
      Array.from({ length: 40 }, (_, n) => {
        const [name = "", value] = fields[n % fields.length] ?? [];
        // Only the token that set the push token last can read it.
        const isRegistration = n % 3 === 0 && name !== "pushToken";
        return isRegistration ? register({ uniqueId: "busy", [name]: value }) : change(token, { [name]: value });
      }),
    );
    await assertReported(token, { uniqueId: "busy", ...reported });
  });
});

describe("invalid device fields: spec/devices#register", () => {
  const location = "location must be a location <latitude>,<longitude> such as 47.6,-122.3.";
  const degrees = "location must have a latitude between -90 and 90 and a longitude between -180 and 180.";
  const wrong: [fields: Record<string, unknown>, error: string, errorNumber: number, message: string][] = [
    ...texts.flatMap((name): typeof wrong => {
      const longest = name === "pushToken" ? 4_096 : 256;
      const tooLong = `${name} must have at most ${longest} characters.`;
      return [
        [{ [name]: "x".repeat(longest + 1) }, "ParameterOutOfRange", 514, tooLong],
        ...[{}, ["x"], true].map((value): (typeof wrong)[number] => [
          { [name]: value },
          "ParameterIncorrectFormat",
          515,
          `${name} must be a text.`,
        ]),
      ];
    }),
    [{ deviceToken: [] }, "ParameterIncorrectFormat", 515, "pushToken must be a text."],
    [{ model: "a\0b" }, "ParameterIncorrectFormat", 515, "model must be Unicode text without NUL."],
    ...["here", "1", "1,2,3", 12, true, [1, 2], {}, { lat: 1 }].map((value): (typeof wrong)[number] => [
      { location: value },
      "ParameterIncorrectFormat",
      515,
      location,
    ]),
    ...["90.1,0", "0,-180.5", { lat: 0, lng: 181 }].map((value): (typeof wrong)[number] => [
      { location: value },
      "ParameterOutOfRange",
      514,
      degrees,
    ]),
    ...["5G", 1, "0", {}, ["Wifi"], true, "__proto__"].map((value): (typeof wrong)[number] => [
      { connectionType: value },
      "ParameterIncorrectFormat",
      515,
      "connectionType must be one of Unknown, Carrier, Wifi.",
    ]),
    ...["yes", 2, -1, {}, [true]].map((value): (typeof wrong)[number] => [
      { isProduction: value },
      "ParameterIncorrectFormat",
      515,
      "isProduction must be true or false.",
    ]),
  ];

  it("get 400 with the parameter's name, at registration and later, and nothing is stored", async () => {
    const token = await register({ uniqueId: "firm", ...reported });
    for (const [fields, error, errorNumber, message] of wrong) {
      const body = { ...test.application, platform: "other", uniqueId: "firm", tag: "new", ...fields };
      assertError(await test.call("POST /devices", { body }), 400, error, errorNumber, message);
      assertError(await change(token, { tag: "new", ...fields }), 400, error, errorNumber, message);
    }
    await assertReported(token, { uniqueId: "firm", ...reported });
  });
});
