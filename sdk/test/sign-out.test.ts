import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import { startTestApp, type TestApp } from "../../server/test/harness.ts";
import { memoryStore } from "../src/identity/memory-store.ts";
import { systemClock } from "../src/lib/clock.ts";
import { breakableNetwork, testClient, until } from "./clients.ts";
import { createSimulatedClock } from "./simulated-clock.ts";

const password = "correct horse";
let count = 0;

describe("a sign-out without a network", () => {
  let app: TestApp;
  before(async () => {
    app = await startTestApp();
  });
  after(() => app.close());

  async function isAlive(token: string): Promise<boolean> {
    return (await app.call("GET /users/me", { token })).status === 200;
  }

  /** A client whose clock stands still, after a sign-out that did not reach the service. */
  async function signedOut() {
    const [network, store, clock] = [breakableNetwork(), memoryStore(), createSimulatedClock()];
    const options = { store, fetch: (...request: Parameters<typeof fetch>) => network.fetch(...request) };
    const client = testClient(app, options, clock);
    const session = await client.signUp({ userName: `leaver ${++count}`, password });
    const { token } = session.handoff();
    network.state = "off";
    await clock.settle(session.signOut());
    assert.ok(await isAlive(token));
    return { network, store, clock, client, token };
  }

  it("takes effect immediately, and the token is revoked after a restart, even if it has expired by the device's clock", async () => {
    const network = breakableNetwork();
    const store = memoryStore();
    const first = testClient(app, { store, fetch: (...request) => network.fetch(...request) });
    const { token } = (await first.signUp({ userName: `leaver ${++count}`, password })).handoff();
    network.state = "off";
    const done = first.session?.signOut();
    assert.equal(first.session, null);
    await done;
    await first.close();
    assert.ok(await isAlive(token));
    const second = testClient(app, { store }, { ...systemClock, now: () => Date.now() + 400 * 86_400_000 });
    await second.start();
    await until(async () => !(await isAlive(token)));
    await until(async () => (await store.list("")).every((key) => !key.includes("outbox")));
    await second.close();
  });

  it("is completed by the first call of the device that the service answers", async () => {
    const { network, client, token } = await signedOut();
    network.state = "on";
    await client.device.get();
    await until(async () => !(await isAlive(token)));
    await client.close();
  });

  it("is completed after a restart by any call, without start()", async () => {
    const { store, client, clock, token } = await signedOut();
    await client.close();
    const second = testClient(app, { store }, clock);
    await second.ping();
    await until(async () => !(await isAlive(token)));
    assert.deepEqual(second.requests, ["GET /service/ping", "POST /users/me/logout"]);
    await second.close();
  });

  it("is completed by start()", async () => {
    const { network, client, token } = await signedOut();
    network.state = "on";
    await client.start();
    await until(async () => !(await isAlive(token)));
    await client.close();
  });

  it("is completed by another tab that stays open", async () => {
    const { network, store, client, clock, token } = await signedOut();
    const other = testClient(app, { store }, clock);
    await other.device.get();
    await until(async () => !(await isAlive(token)));
    network.state = "on";
    const { token: second } = (await client.signUp({ userName: `leaver ${++count}`, password })).handoff();
    await until(() => other.session?.state === "active");
    network.state = "off";
    await clock.settle(client.session?.signOut() ?? assert.fail());
    await until(() => other.session === null);
    await client.close();
    await until(async () => {
      await other.device.get();
      return !(await isAlive(second));
    });
    await other.close();
  });

  it("backs off while other calls succeed", async () => {
    const refusing: typeof fetch = async (input, init) => {
      if (`${input}`.endsWith("/logout")) throw new TypeError("fetch failed");
      return fetch(input, init);
    };
    const client = testClient(app, { retry: false, fetch: refusing });
    await client.signUp({ userName: `leaver ${++count}`, password });
    await client.session?.signOut();
    const attempts = () => client.requests.filter((request) => request === "POST /users/me/logout").length;
    assert.equal(attempts(), 1);
    for (const calls of [1, 2, 4, 8, 16]) {
      const before = attempts();
      for (let call = 1; call < calls; call += 1) await client.device.get();
      assert.equal(attempts(), before);
      await client.device.get();
      await until(() => attempts() === before + 1);
      await setImmediate(); // the attempt has failed
    }
    await client.close();
  });
});
