import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startTestApp, type TestApp } from "../../server/test/harness.ts";
import { getDevice } from "../src/generated/calls.ts";
import { memoryStore } from "../src/identity/memory-store.ts";
import type { Clock } from "../src/lib/clock.ts";
import { ConnectionError, ServiceError } from "../src/wire/errors.ts";
import { breakableNetwork, testClient, until } from "./clients.ts";
import { createSimulatedClock } from "./simulated-clock.ts";

const dayMs = 86_400_000;
const isRegistration = (request: string) => request === "POST /devices";

describe("the device of a client", () => {
  let app: TestApp;
  before(async () => {
    app = await startTestApp();
  });
  after(() => app.close());

  it("is registered once, by the first of many calls", async () => {
    const client = testClient(app, { device: { appVersion: "1.4.0", tag: "blue" } });
    const devices = await Promise.all(Array.from({ length: 20 }, () => client.send(getDevice())));
    assert.equal(new Set(devices.map(({ id }) => id)).size, 1);
    assert.equal(devices[0]?.platform, "Node");
    assert.equal(devices[0]?.appVersion, "1.4.0");
    assert.equal(client.requests.filter(isRegistration).length, 1);
    assert.deepEqual(client.events, ["ready", "deviceRegistered"]);
  });

  it("stays the same after a restart, without another request", async () => {
    const store = memoryStore();
    const first = testClient(app, { store });
    const { id } = await first.send(getDevice());
    await first.close();
    const second = testClient(app, { store });
    assert.equal((await second.send(getDevice())).id, id);
    assert.deepEqual(second.requests, ["GET /devices/current"]);
  });

  it("has the id that the service returns, until it is forgotten", async () => {
    const client = testClient(app);
    assert.equal(client.device.id, undefined);
    const { id } = await client.device.get();
    assert.equal(client.device.id, id);
    await client.device.forget();
    assert.equal(client.device.id, undefined);
    const next = await client.device.change({ tag: "kiosk" });
    assert.notEqual(next.id, id);
    assert.equal(client.device.id, next.id);
    await client.close();
  });

  it("registers once more when a hundred calls find its token invalid", async () => {
    const client = testClient(app);
    const { id } = await client.send(getDevice());
    app.advance(91 * dayMs);
    client.requests.length = 0;
    const devices = await Promise.all(Array.from({ length: 100 }, () => client.send(getDevice())));
    assert.deepEqual(new Set(devices.map((device) => device.id)), new Set([id]));
    assert.equal(client.requests.filter(isRegistration).length, 1);
    assert.equal(client.requests.length, 201);
  });

  it("reports facts that have changed since the last start, and reports a new platform by registering again", async () => {
    const store = memoryStore();
    const first = testClient(app, { store, device: { appVersion: "1", model: "lamp" } });
    await first.send(getDevice());
    await first.close();
    const second = testClient(app, { store, device: { appVersion: "2", model: "lamp" } });
    await second.send(getDevice());
    await until(async () => (await second.send(getDevice())).appVersion === "2");
    assert.ok(!second.requests.some(isRegistration));
    await second.close();
    const third = testClient(app, { store, device: { appVersion: "2", model: "lamp", platform: "Lamp" } });
    await third.send(getDevice());
    await until(async () => (await third.send(getDevice())).platform === "Lamp");
    assert.equal(third.requests.filter(isRegistration).length, 1);
  });

  it("registers again in the background before its token expires", async () => {
    const clock = createSimulatedClock();
    const client = testClient(app, {}, clock);
    await client.send(getDevice());
    // The server's clock has been moved, and the header Date shows the true time.
    await clock.advance(app.now() - Date.now() + 89 * dayMs);
    client.requests.length = 0;
    await client.send(getDevice());
    assert.deepEqual(client.requests, ["GET /devices/current"]);
    await clock.advance(1_800_000); // half of the longest wait
    await until(() => client.requests.some(isRegistration));
    await until(() => client.events.filter((event) => event === "deviceRegistered").length === 2);
  });

  it("has no timer after its client is closed", async () => {
    const clock = createSimulatedClock();
    const timers = new Set<() => void>();
    const after: Clock["after"] = (ms, run, priority) => {
      const cancel = clock.after(ms, run, priority);
      const end = () => {
        timers.delete(end);
        cancel();
      };
      if (priority === "background") timers.add(end);
      return end;
    };
    const client = testClient(app, {}, { ...clock, after });
    await client.send(getDevice());
    await clock.advance(app.now() - Date.now() + 89 * dayMs);
    await client.send(getDevice());
    assert.equal(timers.size, 1);
    await client.close();
    assert.equal(timers.size, 0);
  });

  it("has the platform of the runtime if the app's own is undefined", async () => {
    const client = testClient(app, { device: { platform: undefined as never, model: "kiosk" } });
    const { platform, model } = await client.device.get();
    assert.deepEqual([platform, model], ["Node", "kiosk"]);
  });

  it("is refused with a wrong key: calls fail immediately for one minute, then for two minutes", async () => {
    const clock = createSimulatedClock();
    const client = testClient(app, { appkey: "rk_wrong" }, clock);
    const fails = () => assert.rejects(client.send(getDevice()), { name: "AuthAppCredentialsInvalid" });
    for (const minutes of [1, 2, 4]) {
      client.requests.length = 0;
      await fails();
      await clock.advance(minutes * 60_000 - 1);
      await Promise.all([fails(), fails()]);
      assert.deepEqual(client.requests, ["POST /devices"], `${minutes} minutes`);
      await clock.advance(1);
    }
    assert.deepEqual(client.events, ["ready", "deviceRejected", "deviceRejected", "deviceRejected"]);
    client.requests.length = 0;
    await assert.rejects(client.start(), ServiceError);
    assert.deepEqual(client.requests, ["POST /devices"]);
  });

  it("calls the key function of the app at each registration", async () => {
    const keys = ["rk_wrong", app.application.appkey];
    const client = testClient(app, { appkey: async () => keys.shift() ?? "" });
    await assert.rejects(client.start(), { name: "AuthAppCredentialsInvalid" });
    await client.start();
    await client.send(getDevice());
  });

  it("does not register while the key function fails", async () => {
    const client = testClient(app, { appkey: () => Promise.reject(new Error("no key")) });
    await assert.rejects(client.send(getDevice()), { name: "ConfigurationError" });
    assert.deepEqual(client.requests, []);
  });

  it("does not register behind a captive portal or without a network, and registers as soon as there is a network", async () => {
    const network = breakableNetwork();
    const client = testClient(app, { fetch: (...request) => network.fetch(...request), retry: false });
    network.state = "portal";
    await assert.rejects(client.send(getDevice()), { name: "UnexpectedAnswer" });
    network.state = "off";
    await assert.rejects(client.send(getDevice()), ConnectionError);
    // The call of the app was not sent.
    const signUp = client.signUp({ userName: "never sent", password: "correct horse" });
    await assert.rejects(signUp, { name: "ConnectionError", outcome: "none" });
    network.state = "on";
    await client.send(getDevice());
  });

  it("never sends its key to a root address from a response", async () => {
    const store = memoryStore();
    const client = testClient(app, { store });
    await client.send(getDevice());
    const asked: string[] = [];
    const lured = testClient(app, {
      store,
      retry: false,
      async fetch(input, init) {
        asked.push(new URL(`${input}`).origin);
        if (new URL(`${input}`).pathname === "/devices") throw new TypeError("fetch failed");
        const response = await fetch(input, { ...init, headers: { authorization: "Service dead" } });
        const envelope = await response.json();
        return Response.json({ ...envelope, serviceRoot: "https://evil.example" }, { status: response.status });
      },
    });
    await assert.rejects(lured.send(getDevice()), ConnectionError);
    assert.deepEqual(new Set(asked), new Set([app.url]));
  });
});
