import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Answer, assertError, assertResult, startTestApp, type TestApp } from "../../test/harness.ts";

let test: TestApp;
before(async () => {
  test = await startTestApp();
});
after(() => test.close());

/** All that an app may tell of its device. */
const told = {
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

/** What GET /devices/current shows of a device that has told this and nothing else, with the id from the answer. */
function device({ body }: Answer, fields: Record<string, unknown> = {}) {
  assert.match(body.result.id, /^dev_[0-9a-z]+$/);
  const now = `/Date(${test.now()})/`;
  return { id: body.result.id, platform: "test", created: now, lastModified: now, ...fields };
}

async function assertTold(token: string, fields: Record<string, unknown>): Promise<void> {
  const answer = await get(token);
  assertResult(answer, 200, device(answer, fields));
}

describe("GET /devices/current: surface.md section 4", () => {
  it("200 the device of the token; what it has not told is absent", async () => {
    await assertTold(await register(), {});
    await assertTold(await register({ uniqueId: "bare" }), { uniqueId: "bare" });
  });

  it("works with a user token, and is then the device on which the user signed in", async () => {
    const { token, deviceToken } = await test.signUp();
    assertResult(await get(token), 200, (await get(deviceToken)).body.result);
  });

  it("is never a device of another application, also not under the same uniqueId", async () => {
    const other = await test.createApplication();
    const mine = await register({ uniqueId: "shared", ...told });
    const theirs = await register({ uniqueId: "shared", ...other });
    await assertTold(theirs, { uniqueId: "shared" });
    await change(theirs, { model: "theirs", tag: "" });
    await assertTold(mine, { uniqueId: "shared", ...told });
    assert.notEqual((await get(mine)).body.result.id, (await get(theirs)).body.result.id);
  });
});

describe("what POST /devices takes of the device: surface.md section 4", () => {
  it("all its fields", async () => {
    await assertTold(await register(told), told);
  });

  it("names in any case, deviceToken for pushToken, and the documented name before the other", async () => {
    const other = { MODEL: "m", osversion: "o", APPversion: "a", DeviceToken: "p", isproduction: false };
    const kept = { model: "m", osVersion: "o", appVersion: "a", pushToken: "p", isProduction: false };
    await assertTold(await register(other), kept);
    await assertTold(await register({ pushToken: "push", deviceToken: "device" }), { pushToken: "push" });
    await assertTold(await register({ deviceToken: "device", pushToken: "push" }), { pushToken: "push" });
  });

  it("numbers as texts, truth values as texts and numbers, a location as a text, a choice in any case", async () => {
    const kept = { uniqueId: "4711", model: "7", osVersion: "19.2", tag: "12345678901234567890" };
    const { appid, appkey } = test.application;
    const body = `{"appid":"${appid}","appkey":"${appkey}","platform":"test","uniqueId":4711,"model":7,
      "osVersion":19.2,"tag":12345678901234567890,"location":"-90, 180","connectionType":"wIFI","isProduction":"0"}`;
    const token = (await test.call("POST /devices", { body })).body.result.accessToken;
    const others = { location: { lat: -90, lng: 180 }, connectionType: "Wifi", isProduction: false };
    await assertTold(token, { ...kept, ...others });
    for (const [sent, isProduction] of [
      [true, true],
      ["TRUE", true],
      [1, true],
      ["1", true],
      [false, false],
      ["false", false],
      [0, false],
    ]) {
      await assertTold(await register({ isProduction: sent }), { isProduction });
    }
    for (const connectionType of ["Unknown", "Carrier", "Wifi"]) {
      await assertTold(await register({ connectionType }), { connectionType });
    }
  });

  it("null and the empty text are not given", async () => {
    for (const nothing of [null, ""]) {
      const fields = Object.fromEntries(Object.keys(told).map((name) => [name, nothing]));
      await assertTold(await register(fields), {});
    }
  });

  it("a second registration replaces what it gives and keeps the rest; the earlier token stays good", async () => {
    const first = await register({ uniqueId: "kept", ...told });
    const second = await register({ uniqueId: "kept", tag: null, model: "" });
    for (const token of [first, second]) await assertTold(token, { uniqueId: "kept", ...told });
    const fields = { location: { lat: 0, lng: 0 }, connectionType: "Unknown", isProduction: false, osVersion: "20" };
    await register({ uniqueId: "kept", ...fields });
    await assertTold(first, { uniqueId: "kept", ...told, ...fields });
  });

  it("a hundred registrations at once with one uniqueId, each with one of the fields, lose none of them", async () => {
    const fields = Object.entries(told);
    const each = Array.from({ length: 100 }, (_, n) => Object.fromEntries([fields[n % fields.length] ?? []]));
    const tokens = await Promise.all(each.map((field) => register({ uniqueId: "storm", ...field })));
    await assertTold(tokens[0] ?? "", { uniqueId: "storm", ...told });
    const ids = await Promise.all(tokens.map(async (token) => (await get(token)).body.result.id));
    assert.equal(new Set(ids).size, 1);
  });
});

describe("PATCH /devices/current: surface.md section 4", () => {
  it("200 the changed device; fields not sent stay", async () => {
    const token = await register({ uniqueId: "patched" });
    const created = `/Date(${test.now()})/`;
    const kept: Record<string, unknown> = { uniqueId: "patched", created };
    for (const [name, value] of Object.entries(told)) {
      test.advance(1_000);
      kept[name] = value;
      const answer = await change(token, { [name]: value });
      assertResult(answer, 200, device(answer, kept));
      assertResult(await get(token), 200, answer.body.result);
    }
  });

  it("takes deviceToken for pushToken, and all the forms of a value", async () => {
    const { token } = await test.signUp();
    const sent = { DEVICETOKEN: 42, location: "1,2", connectiontype: "carrier", IsProduction: "False" };
    const answer = await change(token, sent);
    const kept = { pushToken: "42", location: { lat: 1, lng: 2 }, connectionType: "Carrier", isProduction: false };
    assertResult(answer, 200, device(answer, kept));
  });

  it("the empty text clears a text; null, and the empty text of what is no text, are not given", async () => {
    const token = await register(told);
    const nothing = Object.fromEntries(Object.keys(told).map((name) => [name, null]));
    const unchanged = await change(token, nothing);
    assertResult(unchanged, 200, device(unchanged, told));
    const { location, connectionType, isProduction } = told;
    const answer = await change(token, Object.fromEntries(Object.keys(told).map((name) => [name, ""])));
    assertResult(answer, 200, device(answer, { location, connectionType, isProduction }));
  });

  it("200 without any parameter, with an empty body and with none", async () => {
    const token = await register(told);
    for (const body of [{}, "", undefined]) {
      const answer = await change(token, body);
      assertResult(answer, 200, device(answer, told));
    }
  });

  it("takes the whole device back; what the service sets is ignored, of whatever type it is sent", async () => {
    const token = await register({ uniqueId: "echo", ...told });
    const { result } = (await get(token)).body;
    assertResult(await change(token, result), 200, result);
    const set = { id: "dev_mine", created: [], lastModified: {}, platform: 7, uniqueId: {}, token_version: 9 };
    assertResult(await change(token, { ...set, application_id: "app_other", unique_id: "x" }), 200, result);
    assertResult(await get(token), 200, result);
  });

  it("stores texts of up to 256 characters unchanged, and a push token of up to 4,096", async () => {
    const token = await register();
    for (const text of ["__proto__", "'; drop table devices --", "%_\\", `e${"\u0301".repeat(255)}`, "𝒳".repeat(256)]) {
      const fields = Object.fromEntries(texts.map((name) => [name, text]));
      const answer = await change(token, fields);
      assertResult(answer, 200, device(answer, fields));
    }
    await change(token, { pushToken: "x".repeat(4_096) });
    assert.equal((await get(token)).body.result.pushToken, "x".repeat(4_096));
  });

  it("changes of different fields at once, and registrations among them, lose nothing", async () => {
    const token = await register({ uniqueId: "busy" });
    const fields = Object.entries(told);
    await Promise.all(
      Array.from({ length: 40 }, (_, n) => {
        const [name = "", value] = fields[n % fields.length] ?? [];
        return n % 3 === 0 ? register({ uniqueId: "busy", [name]: value }) : change(token, { [name]: value });
      }),
    );
    await assertTold(token, { uniqueId: "busy", ...told });
  });
});

describe("what is refused of a device: surface.md sections 1 and 2", () => {
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

  it("400 with the parameter's name, at registration and later, and nothing is stored", async () => {
    const token = await register({ uniqueId: "firm", ...told });
    for (const [fields, error, errorNumber, message] of wrong) {
      const body = { ...test.application, platform: "other", uniqueId: "firm", tag: "new", ...fields };
      assertError(await test.call("POST /devices", { body }), 400, error, errorNumber, message);
      assertError(await change(token, { tag: "new", ...fields }), 400, error, errorNumber, message);
    }
    await assertTold(token, { uniqueId: "firm", ...told });
  });
});
