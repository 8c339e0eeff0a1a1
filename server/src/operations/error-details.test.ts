import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Answer, assertError, startTestApp, type TestApp, type TestUser } from "../../test/harness.ts";

let test: TestApp;
let user: TestUser;
before(async () => {
  test = await startTestApp({ BATCH_ITEMS_MAX: "3" });
  user = await test.signUp();
});
after(() => test.close());

function call(operation: string, body?: object): Promise<Answer> {
  return test.call(operation, { token: user.token, ...(body !== undefined && { body }) });
}

async function parameterOf(answer: Promise<Answer>, error: string): Promise<unknown> {
  const { body } = await answer;
  assert.equal(body.error, error);
  return body.parameter;
}

// spec/errors#error-details
describe("an error names the invalid parameter", () => {
  it("if it is missing, out of range, or has a wrong format", async () => {
    const location = "1,2";
    assert.equal(await parameterOf(call("POST /checkins", {}), "ParameterMissingRequiredValue"), "location");
    const long = call("POST /checkins", { location, COMMENT: "x".repeat(4_001) });
    assert.equal(await parameterOf(long, "ParameterOutOfRange"), "comment");
    assert.equal(
      await parameterOf(call("POST /checkins", { location: "here" }), "ParameterIncorrectFormat"),
      "location",
    );
    assert.equal(await parameterOf(call("GET /checkins?pageSize=0"), "ParameterOutOfRange"), "pageSize");
    const permissions = call("POST /checkins", { location, writePermissions: "App" });
    assert.equal(await parameterOf(permissions, "ParameterOutOfRange"), "writePermissions");
    const long256 = `POST /metrics/events/${"x".repeat(257)}`;
    assert.equal(await parameterOf(call(long256, {}), "ParameterOutOfRange"), "event");
  });

  it("if it is a member of another parameter", async () => {
    const text = "x".repeat(1_001);
    const event = call("POST /metrics/events/level", { values: { mood: text } });
    assert.equal(await parameterOf(event, "ParameterOutOfRange"), "values.mood");
    const large = call("PUT /metadata/me", { values: { mood: "x".repeat(32_768) } });
    assert.equal(await parameterOf(large, "RequestTooLarge"), "values.mood");
  });

  it("truncated at 300 characters, between characters", async () => {
    const key = `x${"😀".repeat(300)}`;
    const answer = call("PUT /metadata/me", { values: { [key]: 1 } });
    const parameter = `${await parameterOf(answer, "ParameterOutOfRange")}`;
    assert.ok(parameter.startsWith("values.x😀") && parameter.length <= 300 && parameter.isWellFormed());
  });

  it("if its value is already in use", async () => {
    const taken = call("POST /users", { username: user.userName, password: "correct horse" });
    assert.equal(await parameterOf(taken, "ItemAlreadyExists"), "username");
    await call("POST /users/me/identities/crm", { identityId: "7" });
    const other = await test.signUp();
    const identity = test.call("POST /users/me/identities/crm", { token: other.token, body: { identityId: "7" } });
    assert.equal(await parameterOf(identity, "ItemAlreadyExists"), "identityId");
  });

  it("if it is too large", async () => {
    const item = { method: "GET", path: "/users/me" };
    const batch = call("POST /batch", { requests: [item, item, item, item] });
    assert.equal(await parameterOf(batch, "RequestTooLarge"), "requests");
  });

  it("in an item of a batch", async () => {
    const requests = [{ method: "POST", path: "/checkins", parameters: {} }, { path: "/users/me" }];
    const { responses } = (await call("POST /batch", { requests })).body.result;
    assert.deepEqual(
      responses.map(({ parameter }: { parameter: string }) => parameter),
      ["location", "method"],
    );
  });

  it("in the settings of an application, by its path", async () => {
    const { token } = await test.createOperator();
    const put = (body: object) =>
      test.call(`PUT /_/api/applications/${test.application.appid}/settings`, { token, body });
    const one = put({ retention: { metricsDays: 0 } });
    assert.equal(await parameterOf(one, "ParameterOutOfRange"), "retention.metricsDays");
    const two = put({ retention: { metricsDays: 0, crashReportsDays: 0 } });
    assert.equal(await parameterOf(two, "ParameterOutOfRange"), undefined);
  });

  it("unless it is an id, or no parameter is invalid", async () => {
    const refusals: readonly [operation: string, error: string][] = [
      ["GET /checkins/x", "ParameterIncorrectFormat"],
      [`GET /checkins/${user.id}`, "ParameterOutOfRange"],
      [`GET /checkins/${test.app.ids.newId("Checkin")}`, "ItemDoesNotExist"],
      ["GET /metadata/x", "ParameterIncorrectFormat"],
    ];
    for (const [operation, error] of refusals) assert.equal(await parameterOf(call(operation), error), undefined);
    const malformed = test.call("POST /checkins", { token: user.token, body: "{" });
    assert.equal(await parameterOf(malformed, "ParameterIncorrectFormat"), undefined);
  });
});

// spec/errors#error-details
describe("an error says when to retry", () => {
  async function limitCalls(): Promise<void> {
    const { token } = await test.createOperator();
    const body = { limits: { operations: { "GET /devices/current": { perSecond: 0.001, burst: 1 } } } };
    const path = `PATCH /_/api/applications/${test.application.appid}/settings`;
    assert.equal((await test.call(path, { token, body })).status, 200);
    await call("GET /devices/current");
  }

  it("in the envelope, in the header, and in an item of a batch", async () => {
    await limitCalls();
    const answer = await call("GET /devices/current");
    assertError(answer, 429, "RateLimitExceeded", 1282, "Too many calls. Try again after the time in Retry-After.");
    assert.equal(answer.body.retryAfterSeconds, Number(answer.headers["retry-after"]));
    assert.ok(answer.body.retryAfterSeconds > 0);
    const requests = [{ method: "GET", path: "/devices/current" }];
    const [item] = (await call("POST /batch", { requests })).body.result.responses;
    assert.deepEqual([item.status, Number.isInteger(item.retryAfterSeconds)], [429, true]);
  });
});
