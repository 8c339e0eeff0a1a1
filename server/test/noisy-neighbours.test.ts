import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { updateApplicationSettings } from "../src/tenancy/application-settings.ts";
import { type Answer, startTestApp, type TestApp } from "./harness.ts";

let test: TestApp;
before(async () => {
  // The limits allow bursts of ten seconds of calls.
  test = await startTestApp({ RATE_LIMIT_CALLER_PER_SECOND: "3", RATE_LIMIT_APPLICATION_PER_SECOND: "10" });
});
after(() => test.close());

/** Makes concurrent calls, and counts the responses by status. */
async function statuses(count: number, call: () => Promise<Answer>): Promise<Record<number, number>> {
  const found: Record<number, number> = {};
  for (const { status } of await Promise.all(Array.from({ length: count }, call)))
    found[status] = (found[status] ?? 0) + 1;
  return found;
}

function reads(token: string): () => Promise<Answer> {
  return () => test.call("GET /devices/current", { token });
}

function lists(token: string, operation = "GET /_/api/applications"): () => Promise<Answer> {
  return () => test.call(operation, { token });
}

describe("a caller above its limit, and other callers: hostile.md 30", () => {
  it("an application above its limit does not affect other applications or operators", async () => {
    const [noisy, quiet] = [await test.createApplication(), await test.createApplication()];
    const operator = await test.createOperator();
    const callers = await Promise.all(Array.from({ length: 10 }, () => test.registerDevice(noisy)));
    const token = await test.registerDevice(quiet);
    const [flood, ofQuiet, ofOperator] = await Promise.all([
      Promise.all(callers.map((each) => statuses(20, reads(each)))),
      statuses(30, reads(token)),
      statuses(30, lists(operator.token)),
    ]);
    const taken = flood.reduce((sum, each) => sum + (each[200] ?? 0), 0);
    const refused = flood.reduce((sum, each) => sum + (each[429] ?? 0), 0);
    assert.deepEqual([taken, refused], [90, 110]); // the registrations count, too
    assert.deepEqual([ofQuiet, ofOperator], [{ 200: 30 }, { 200: 30 }]);
    // Operators see its use, and devices of other applications can register.
    const { token: another } = await test.createOperator();
    assert.deepEqual(await statuses(5, lists(another, `GET /_/api/applications/${noisy.appid}/crashes`)), { 200: 5 });
    assert.ok(await test.registerDevice(quiet));
    assert.deepEqual(await statuses(1, reads(callers[0] ?? "")), { 429: 1 });
  });

  it("an operator above the limit does not affect other operators or applications", async () => {
    const [noisy, quiet] = [await test.createOperator(), await test.createOperator()];
    const token = await test.registerDevice(await test.createApplication());
    const [flood, ofQuiet, ofDevice] = await Promise.all([
      statuses(100, lists(noisy.token)),
      statuses(30, lists(quiet.token)),
      statuses(30, reads(token)),
    ]);
    assert.deepEqual(flood, { 200: 30, 429: 70 });
    assert.deepEqual([ofQuiet, ofDevice], [{ 200: 30 }, { 200: 30 }]);
  });

  it("all sessions of an operator share one limit", async () => {
    const { name, password, token } = await test.createOperator();
    const { body } = await test.call("POST /_/api/sessions", { body: { name, password } });
    assert.deepEqual(await statuses(40, lists(token)), { 200: 30, 429: 10 });
    assert.deepEqual(await statuses(1, lists(body.result.token)), { 429: 1 });
  });

  it("calls without a valid token do not affect calls with one", async () => {
    const application = await test.createApplication();
    const token = await test.registerDevice(application);
    const { token: operatorToken } = await test.createOperator();
    const [forged, wrong, ofDevice, ofOperator] = await Promise.all([
      statuses(200, reads(`${token}x`)),
      statuses(200, lists(test.app.operatorTokens.issue())),
      statuses(30, reads(token)),
      statuses(30, lists(operatorToken)),
    ]);
    assert.deepEqual([forged, wrong], [{ 401: 200 }, { 401: 200 }]);
    assert.deepEqual([ofDevice, ofOperator], [{ 200: 30 }, { 200: 30 }]);
  });

  it("a limit that an application sets applies only to that application", async () => {
    const [strict, other] = [await test.createApplication(), await test.createApplication()];
    const limits = { operations: { "GET /devices/current": { perSecond: 0.001, burst: 1 } } };
    await test.app.database.write(({ queries }) =>
      updateApplicationSettings(strict.appid, { oidc: {}, limits }, queries),
    );
    const [one, another] = [await test.registerDevice(strict), await test.registerDevice(other)];
    assert.deepEqual(await statuses(3, reads(one)), { 200: 1, 429: 2 });
    assert.deepEqual(await statuses(3, reads(another)), { 200: 3 });
  });
});
