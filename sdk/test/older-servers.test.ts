import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { longSessions, startTestApp, type TestApp } from "../../server/test/harness.ts";
import { RateLimitExceeded } from "../src/generated/errors.ts";
import { ServiceError } from "../src/wire/errors.ts";
import { testClient, until } from "./clients.ts";
import { createSimulatedClock } from "./simulated-clock.ts";

const dayMs = 86_400_000;
const password = "correct horse";

/** The client works with servers of earlier minor versions, whose answers lack what later ones brought. */
describe("a client of an older server", () => {
  let app: TestApp;
  before(async () => {
    app = await startTestApp(longSessions);
    const { token } = await app.createOperator();
    const settings = `/_/api/applications/${app.application.appid}/settings`;
    assert.equal((await app.call(`PATCH ${settings}`, { token, body: { rehearsal: "on" } })).status, 200);
  });
  after(() => app.close());

  it("reports once that the server does not renew tokens, and uses the session until its token expires", async () => {
    const clock = createSimulatedClock();
    const warnings: (string | undefined)[] = [];
    const client = testClient(
      app,
      {
        async fetch(input, init) {
          // A path that no server has is answered as an older server answers the renewal.
          const url = `${input}`.replace(/\/users\/me\/tokens$/, "/users/me/no-such-path");
          const response = await fetch(url, init);
          const date = new Date(app.now()).toUTCString(); // the header shows the true time, which the test moves
          return new Response(await response.text(), { status: response.status, headers: { date } });
        },
      },
      clock,
    );
    client.on("warning", ({ message }) => warnings.push(message));
    const session = await client.signUp({ userName: "old", password });
    const { token } = session.handoff();
    const pass = async (days: number) => {
      app.advance(days * dayMs);
      await clock.advance(days * dayMs);
    };
    await pass(16);
    await client.users.me();
    await until(() => warnings.length > 0);
    await pass(1);
    await client.users.me();
    assert.deepEqual(warnings, ["This server does not renew user tokens: sessions end when their tokens expire."]);
    assert.equal(client.requests.filter((request) => request === "POST /users/me/tokens").length, 1);
    assert.equal(session.handoff().token, token);
    await pass(14);
    await assert.rejects(client.users.me(), { name: "SessionEnded" });
    assert.equal(client.sessions[0]?.reason, "expired");
    await client.close();
  });

  it("reads the waiting time from the header, and reports no parameter, when the envelope has neither", async () => {
    const client = testClient(app, {
      retry: false,
      async fetch(input, init) {
        const response = await fetch(input, init);
        const { parameter, retryAfterSeconds, ...envelope } = await response.json();
        return Response.json(envelope, response);
      },
    });
    await client.signUp({ userName: "older", password });
    const refused = await client.signUp({ userName: "", password }).catch((error: unknown) => error);
    assert.ok(refused instanceof ServiceError && refused.is("ParameterMissingRequiredValue"));
    assert.equal(refused.parameter, undefined);
    const headers = { "Rollcall-Rehearse": "RateLimitExceeded;retry-after=7" };
    const limited = await client.users.me({ headers, timeoutMs: 1_000 }).catch((error: unknown) => error);
    assert.ok(limited instanceof RateLimitExceeded);
    assert.equal(limited.retryAfterMs, 7_000);
    await client.close();
  });
});
