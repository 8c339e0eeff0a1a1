import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { NewApplication } from "../src/applications/applications.store.ts";
import { openDatabase } from "../src/db/open.ts";
import { updateApplicationSettings } from "../src/tenancy/application-settings.ts";
import { createTestApplication, createTestDeployment, signUpAt, type TestDeployment } from "./deployments.ts";
import { send } from "./harness.ts";
import { killRunningServers, type RunningServer, startProgram } from "./running-server.ts";

/** Four processes on one database that a caller uses concurrently. */

const burst = 200;

// spec/limits#several-processes
describe("limits of four processes", {
  skip: process.env["TEST_DATABASE_URL"] === undefined && "processes on one SQLite file do not share counters",
}, () => {
  let deployment: TestDeployment;
  let application: NewApplication;
  let servers: RunningServer[];
  before(async () => {
    deployment = await createTestDeployment();
    const { settings } = deployment;
    application = await createTestApplication(settings);
    const database = await openDatabase(settings.DATABASE_URL, { connectionsMax: 1, timeoutMs: 60_000 });
    // One token returns in a quarter of an hour, so the speed of the machine does not matter.
    const limits = { caller: { perSecond: 0.001, burst } };
    await database.write(({ queries }) => updateApplicationSettings(application.appid, { oidc: {}, limits }, queries));
    await database.close();
    servers = await Promise.all(
      Array.from({ length: 4 }, () =>
        startProgram({
          ...settings,
          DATABASE_TIMEOUT_MS: "600000",
          RATE_LIMIT_NEW_DEVICES_PER_SECOND: "0",
          TRUST_PROXY: "loopback",
        }),
      ),
    );
  });
  after(async () => {
    killRunningServers();
    await deployment.remove();
  });

  /** Makes concurrent calls at all processes, several at each, and counts the responses by status. */
  async function callEverywhere(count: number, call: (server: RunningServer) => ReturnType<typeof send>) {
    const counts = new Map<number, number>();
    const clients = servers.flatMap((server) => Array.from({ length: 5 }, () => server));
    await Promise.all(
      clients.map(async (server) => {
        for (let n = 0; n < count / clients.length; n += 1) {
          const { status } = await call(server);
          counts.set(status, (counts.get(status) ?? 0) + 1);
        }
      }),
    );
    return counts;
  }

  it("admit a device that calls all of them as often as one process would", async () => {
    const [server] = servers;
    assert.ok(server);
    const { deviceToken: token } = await signUpAt(server.port, application);
    const counts = await callEverywhere(4 * burst, ({ port }) => send(port, "GET", "/devices/current", { token }));
    assert.deepEqual([...counts.keys()].sort(), [200, 429]);
    const admitted = (counts.get(200) ?? 0) + 1; // the sign-up was a call of the device
    assert.ok(Math.abs(admitted - burst) <= burst / 10, `${admitted} instead of ${burst}`);
  });

  /** Signs in with a wrong password everywhere, each time from the next of these addresses. */
  async function guessEverywhere(count: number, username: string, addressOf: (n: number) => string) {
    const [server] = servers;
    assert.ok(server);
    const device = await send(server.port, "POST", "/devices", { body: { ...application, platform: "test" } });
    const token: string = device.body.result.accessToken;
    let n = 0;
    return callEverywhere(count, ({ port }) => {
      n += 1;
      const headers = { "x-forwarded-for": addressOf(n) };
      return send(port, "POST", "/users/login", { token, body: { username, password: "wrong" }, headers });
    });
  }

  it("check ten guesses for a name from one address in total", async () => {
    const startedAt = performance.now();
    const counts = await guessEverywhere(40, "one address", () => "10.0.0.1");
    const seconds = (performance.now() - startedAt) / 1_000;
    const [checked = 0, refused = 0] = [counts.get(403), counts.get(429)];
    assert.equal(checked + refused, 40);
    const afterWaiting = Math.floor(Math.log2(1 + seconds)); // one after 1 s, the next after 2 s more, and so on
    assert.ok(checked >= 10 && checked <= 10 + afterWaiting, `${checked} in ${seconds} s`);
  });

  it("check guesses for a name from many addresses at the rate of one process", async () => {
    const startedAt = performance.now();
    const counts = await guessEverywhere(140, "many addresses", (n) => `10.${n}.0.1`);
    const seconds = (performance.now() - startedAt) / 1_000;
    assert.deepEqual(Object.fromEntries(counts), { 403: 140 });
    const exact = 100 + 10 * seconds;
    assert.ok(140 <= exact * 1.1, `140 in ${seconds} s`);
  });
});
