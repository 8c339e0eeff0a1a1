import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startTestApp, type TestApp } from "../../server/test/harness.ts";
import { testClient, until } from "./clients.ts";
import { createSimulatedClock } from "./simulated-clock.ts";

const password = "correct horse";
const lifeMs = 20_000;
let count = 0;
const newName = () => `renewed ${++count}`;

describe("the renewal of a token", () => {
  let app: TestApp;
  before(async () => {
    app = await startTestApp();
    const { token } = await app.createOperator();
    const settings = `/_/api/applications/${app.application.appid}/settings`;
    const body = { tokenLifetimes: { userMs: lifeMs } };
    assert.equal((await app.call(`PATCH ${settings}`, { token, body })).status, 200);
  });
  after(() => app.close());

  const isRenewal = (request: string) => request === "POST /users/me/tokens";

  /** A user whose client and service have clocks that stand still; the header Date is up to a second late. */
  async function signedUp() {
    const clock = createSimulatedClock();
    const network = { fails: false };
    const client = testClient(
      app,
      {
        retry: false,
        async fetch(input, init) {
          if (network.fails && `${input}`.endsWith("/users/me/tokens")) throw new TypeError("fetch failed");
          const response = await fetch(input, init);
          const headers = { date: new Date(app.now() - 999).toUTCString(), "content-type": "application/json" };
          return new Response(await response.text(), { status: response.status, headers });
        },
      },
      clock,
    );
    const session = await client.signUp({ userName: newName(), password });
    const pass = async (ms: number) => {
      app.advance(ms);
      await clock.advance(ms);
    };
    const attempts = () => client.requests.filter(isRenewal).length;
    return { client, session, network, pass, attempts };
  }

  it("is retried after a quarter of the remaining lifetime, so that a network failure does not let a short session expire", async () => {
    const { client, session, network, pass, attempts } = await signedUp();
    const { token } = session.handoff();
    network.fails = true;
    await pass(11_000);
    await client.users.me();
    await until(() => attempts() === 1);
    await pass(1_500);
    await client.users.me();
    assert.equal(attempts(), 1);
    network.fails = false;
    await pass(1_500);
    await client.users.me();
    await until(() => session.handoff().token !== token);
    assert.equal(attempts(), 2);
    await client.close();
  });

  it("is attempted at most once a second for a token that has expired by the client's clock", async () => {
    const { client, network, pass, attempts } = await signedUp();
    network.fails = true;
    await pass(19_000);
    for (let call = 0; call < 20; call += 1) {
      await client.users.me().catch(() => {});
      await pass(50);
    }
    assert.ok(attempts() <= 2, `${attempts()} attempts`);
    await client.close();
  });

  it('that never succeeds signs the user out with the reason "expired", even within a second after the expiry', async () => {
    const { client, session, network, pass } = await signedUp();
    network.fails = true;
    await pass(lifeMs + 1);
    await assert.rejects(client.users.me(), { name: "SessionEnded" });
    assert.equal(session.reason, "expired");
    await client.close();
  });

  it("is not attempted with every call when the clock is ahead by more than the lifetime of a token", async () => {
    const clock = createSimulatedClock();
    // As in a browser, which cannot read the time of the service.
    const withoutDate: typeof fetch = async (input, init) => {
      const { status, headers: answered, body } = await fetch(input, init);
      const headers = new Headers(answered);
      headers.delete("date");
      return new Response(body, { status, headers });
    };
    const ahead = { ...clock, now: () => clock.now() - Date.UTC(2026, 0, 1) + Date.now() + 400 * 86_400_000 };
    const client = testClient(app, { fetch: withoutDate }, ahead);
    await client.signUp({ userName: newName(), password });
    const renewals = () => client.events.filter((event) => event === "renewed").length;
    app.advance(1_000);
    await client.users.me();
    await until(() => renewals() === 1);
    for (let call = 0; call < 5; call += 1) {
      app.advance(1_000);
      await client.users.me();
    }
    assert.equal(client.requests.filter((request) => request === "POST /users/me/tokens").length, 1);
    await clock.advance(10_000);
    await client.users.me();
    await until(() => renewals() === 2);
  });
});
