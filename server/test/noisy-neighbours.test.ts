import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { updateApplicationSettings } from "../src/tenancy/application-settings.ts";
import { type Answer, startTestApp, type TestApp } from "./harness.ts";

let test: TestApp;
before(async () => {
  // Bursts are those of ten seconds.
  test = await startTestApp({ RATE_LIMIT_CALLER_PER_SECOND: "3", RATE_LIMIT_APPLICATION_PER_SECOND: "10" });
});
after(() => test.close());

/** The statuses of as many calls at once, and how often each came. */
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

describe("who calls too much, and who does not: hostile.md 30", () => {
  it("an application above its limit takes nothing from another one, which calls at the same time, nor from operators", async () => {
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
    assert.deepEqual([taken, refused], [90, 110]); // and the registrations
    assert.deepEqual([ofQuiet, ofOperator], [{ 200: 30 }, { 200: 30 }]);
    // What it is up to can be seen, and new devices of others come in.
    const { token: another } = await test.createOperator();
    assert.deepEqual(await statuses(5, lists(another, `GET /_/api/applications/${noisy.appid}/crashes`)), { 200: 5 });
    assert.ok(await test.registerDevice(quiet));
    assert.deepEqual(await statuses(1, reads(callers[0] ?? "")), { 429: 1 });
  });

  it("an operator above the limit takes nothing from other operators, nor from anybody's application", async () => {
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

  it("a second session of an operator is the same operator", async () => {
    const { name, password, token } = await test.createOperator();
    const { body } = await test.call("POST /_/api/sessions", { body: { name, password } });
    assert.deepEqual(await statuses(40, lists(token)), { 200: 30, 429: 10 });
    assert.deepEqual(await statuses(1, lists(body.result.token)), { 429: 1 });
  });

  it("many with no good token at all take nothing from those who have one", async () => {
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

  it("a limit that one application sets for itself holds nobody else", async () => {
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
