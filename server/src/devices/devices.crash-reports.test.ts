import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Answer, assertError, assertResult, startTestApp, type TestApp } from "../../test/harness.ts";
import { identifyCrash } from "../crashes/crash-identity.ts";

let test: TestApp;
let token: string;
before(async () => {
  test = await startTestApp();
  token = await test.registerDevice();
});
after(() => test.close());

const stackTrace = "Error: no such thing\n\tat main (app.js:1:2)";

function report(body: Record<string, unknown>, as = token): Promise<Answer> {
  return test.call("POST /devices/current/crashreports", { token: as, body });
}

/** The expected response to a report, with the id of the actual response. */
function newReport({ body }: Answer, fields: Record<string, unknown> = {}) {
  assert.match(body.result.id, /^crs_[0-9a-z]+$/);
  const now = `/Date(${test.now()})/`;
  return { id: body.result.id, stackTrace, created: now, lastModified: now, ...fields };
}

async function storedReport({ body }: Answer) {
  const rows = test.app.database.reads.selectFrom("crash_reports").selectAll().where("id", "=", body.result.id);
  return { ...(await rows.executeTakeFirst()) };
}

describe("POST /devices/current/crashreports: spec/devices#send-a-crash-report", () => {
  it("answers 201 with the report, without omitted parameters", async () => {
    for (const nothing of [undefined, null, ""]) {
      const optional = { message: nothing, methodName: nothing, location: nothing, tag: nothing };
      const answer = await report({ stackTrace, ...optional });
      assertResult(answer, 201, newReport(answer));
    }
  });

  it("answers 201 with all fields, with a device token and with a user token", async () => {
    const fields = { message: "no such thing", methodName: "main", location: { lat: -1.5, lng: 2 }, tag: "beta" };
    for (const each of [token, (await test.signUp()).token]) {
      const answer = await report({ stackTrace, ...fields }, each);
      assertResult(answer, 201, newReport(answer, fields));
    }
  });

  it("accepts names in any case, numbers as strings, and a location as a string", async () => {
    const answer = await report({ STACKTRACE: stackTrace, Message: 42, methodname: 1.5, location: "1, 2" });
    const fields = { message: "42", methodName: "1.5", location: { lat: 1, lng: 2 } };
    assertResult(answer, 201, newReport(answer, fields));
  });

  it("ignores fields that the service sets, whatever their type", async () => {
    const sent = { id: "crs_mine", created: [], lastModified: 7, device_id: {}, deviceID: "dev_other", app_version: 1 };
    const answer = await report({ stackTrace, ...sent });
    assertResult(answer, 201, newReport(answer));
  });

  it("stores the report with the device of the token and the versions that the device last reported", async () => {
    const body = { ...test.application, platform: "test", osVersion: "19", appVersion: "3.1" };
    const device = (await test.call("POST /devices", { body })).body.result.accessToken;
    const { id } = (await test.call("GET /devices/current", { token: device })).body.result;
    const fields = { message: "m", methodName: "n", location: "1,2", tag: "t" };
    const answer = await report({ stackTrace, ...fields }, device);
    await test.call("PATCH /devices/current", { token: device, body: { appVersion: "4.0", osVersion: "" } });
    assert.deepEqual(await storedReport(answer), {
      application_id: test.application.appid,
      id: answer.body.result.id,
      device_id: id,
      stack_trace: stackTrace,
      message: "m",
      method_name: "n",
      tag: "t",
      lat: 1,
      lng: 2,
      app_version: "3.1",
      os_version: "19",
      created_at: test.now(),
      fingerprint: identifyCrash(stackTrace, null).fingerprint,
    });
    const later = await storedReport(await report({ stackTrace }, device));
    assert.deepEqual([later.app_version, later.os_version], ["4.0", null]);
  });

  it("answers 400 ParameterMissingRequiredValue without a stackTrace", async () => {
    for (const missing of [undefined, null, ""]) {
      const answer = await report({ stackTrace: missing, message: "m" });
      assertError(answer, 400, "ParameterMissingRequiredValue", 513, "stackTrace is required.");
    }
  });

  it("accepts strings up to their limits, and answers 400 ParameterOutOfRange beyond", async () => {
    const bounds = { stackTrace: 65_536, message: 4_000, methodName: 1_000, tag: 256 };
    for (const [name, longest] of Object.entries(bounds)) {
      const text = "𝒳".repeat(longest);
      const answer = await report({ stackTrace, [name]: text });
      assertResult(answer, 201, newReport(answer, { [name]: text }));
      const rule = `${name} must have at most ${longest} characters.`;
      assertError(await report({ stackTrace, [name]: `${text}x` }), 400, "ParameterOutOfRange", 514, rule);
    }
  });

  it("answers 400 ParameterIncorrectFormat for other types and locations, ParameterOutOfRange for coordinates off the earth", async () => {
    for (const name of ["stackTrace", "message", "methodName", "tag"]) {
      const answer = await report({ stackTrace, [name]: { toString: "x" } });
      assertError(answer, 400, "ParameterIncorrectFormat", 515, `${name} must be a text.`);
    }
    const location = "location must be a location <latitude>,<longitude> such as 47.6,-122.3.";
    assertError(await report({ stackTrace, location: "here" }), 400, "ParameterIncorrectFormat", 515, location);
    const degrees = "location must have a latitude between -90 and 90 and a longitude between -180 and 180.";
    assertError(await report({ stackTrace, location: "91,0" }), 400, "ParameterOutOfRange", 514, degrees);
  });

  it("gives each of many concurrent reports a distinct id", async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => report({ stackTrace })));
    assert.equal(new Set(answers.map((answer) => newReport(answer).id)).size, 50);
  });
});
