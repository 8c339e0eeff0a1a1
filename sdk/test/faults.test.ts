import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startTestApp, type TestApp, type TestOperator } from "../../server/test/harness.ts";
import { createCheckin, getOwnUser, searchCheckins } from "../src/generated/calls.ts";
import { systemClock } from "../src/lib/clock.ts";
import { UnexpectedAnswer } from "../src/wire/errors.ts";
import { breakableNetwork, testClient } from "./clients.ts";
import { createSimulatedClock } from "./simulated-clock.ts";

const password = "correct horse";
const hourMs = 3_600_000;

describe("a client in a hostile environment", () => {
  let app: TestApp;
  let operator: TestOperator;
  before(async () => {
    app = await startTestApp();
    operator = await app.createOperator();
  });
  after(() => app.close());

  it("stays signed in and writes nothing twice behind a captive portal that answers for a minute", async () => {
    const network = breakableNetwork();
    const clock = createSimulatedClock();
    const client = testClient(app, { fetch: (...request) => network.fetch(...request) }, clock);
    const userName = "portal";
    const session = await client.signUp({ userName, password });
    const { token } = session.handoff();
    const write = () => client.send(createCheckin({ location: { lat: 48.2, lng: 16.4 } }));
    await write();

    network.state = "portal";
    const startedAt = clock.now();
    while (clock.now() < startedAt + 60_000) {
      const calls = [client.send(getOwnUser()), write(), client.signIn({ userName, password })];
      for (const result of await clock.settle(Promise.allSettled(calls))) {
        assert.ok(result.status === "rejected" && result.reason instanceof UnexpectedAnswer);
      }
      await clock.advance(5_000);
    }
    assert.ok(!client.requests.slice(2).includes("POST /devices"));
    assert.deepEqual(client.events, ["ready", "deviceRegistered", "signedIn", "sessionChanged"]);

    network.state = "on";
    await write();
    assert.equal(client.session, session);
    assert.equal(session.handoff().token, token);
    assert.equal((await client.send(searchCheckins())).pageResults.length, 2);
  });

  for (const [title, hours] of Object.entries({ ahead: 1, behind: -1 })) {
    it(`works as usual when its clock is an hour ${title}`, async () => {
      const clock = { ...systemClock, now: () => Date.now() + hours * hourMs };
      const client = testClient(app, {}, clock);
      const { userId } = await client.signUp({ userName: `hour ${title}`, password });
      await client.send(getOwnUser());
      await client.send(createCheckin({ location: { lat: 48.2, lng: 16.4 } }));
      assert.deepEqual(client.requests, ["POST /devices", "POST /users", "GET /users/me", "POST /checkins"]);
      assert.ok(Math.abs(client.serverTime.getTime() - Date.now()) < hourMs / 2);
      const path = `/_/api/applications/${app.application.appid}/users/${userId}/revoke-tokens`;
      await app.call(`POST ${path}`, { token: operator.token, body: {} });
      await assert.rejects(client.send(getOwnUser()), { name: "SessionEnded" });
      assert.equal(client.sessions[0]?.reason, "revoked");
    });
  }
});
