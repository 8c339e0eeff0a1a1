import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { after, describe, it } from "node:test";
import { startMaintenance } from "../src/app/maintenance.ts";
import { takeLease } from "../src/jobs/leases.ts";
import { startTestApp, type TestApp } from "./harness.ts";

/** One of several processes on a database does the work that must be done once. */

function roundsOf(apps: readonly TestApp[]): number {
  return apps.flatMap(({ logLines }) => logLines).filter(({ msg }) => msg === "maintenance").length;
}

/** Waits for this many rounds, and then for the duration of another one, to detect one too many. */
async function waitForRounds(apps: readonly TestApp[], count: number): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (roundsOf(apps) < count) {
    assert.ok(Date.now() < deadline, `${roundsOf(apps)} of ${count} rounds`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  await new Promise((resolve) => setTimeout(resolve, 200));
  assert.equal(roundsOf(apps), count);
}

const apps: TestApp[] = [];
const running: { stop(): Promise<void> }[] = [];
after(async () => {
  for (const { stop } of running) await stop();
  for (const app of apps.toReversed()) await app.close();
});

// spec/deployment#maintenance
describe("maintenance by several processes", () => {
  it("one process does each round, a minute after the last one, and another process takes over from a killed one", async () => {
    const first = await startTestApp({ LOG_LEVEL: "debug" });
    const { databaseUrl, secrets = [] } = first.config;
    const shared = { DATABASE_URL: databaseUrl, ROLLCALL_SECRET: secrets.join(), LOG_LEVEL: "debug" };
    apps.push(first, await startTestApp(shared), await startTestApp(shared));
    const gone = { name: "maintenance", holder: "a process that was killed" };
    await first.app.database.write(({ queries }) => takeLease(gone, 0, first.now() + 30_000, queries));
    running.push(...apps.map(({ app }) => startMaintenance(app, 20)));
    await waitForRounds(apps, 0);
    for (let rounds = 1; rounds <= 3; rounds += 1) {
      for (const app of apps) app.advance(60_000);
      await waitForRounds(apps, rounds);
    }
  });

  it("a killed process whose clock was years ahead does not block maintenance", async () => {
    const ahead = await startTestApp({ LOG_LEVEL: "debug" });
    const { databaseUrl, secrets = [] } = ahead.config;
    const right = await startTestApp({
      DATABASE_URL: databaseUrl,
      ROLLCALL_SECRET: secrets.join(),
      LOG_LEVEL: "debug",
    });
    apps.push(ahead, right);
    ahead.advance(10 * 365 * 86_400_000);
    const itsMaintenance = startMaintenance(ahead.app, 20);
    await waitForRounds([ahead], 1);
    await itsMaintenance.stop();
    running.push(startMaintenance(right.app, 20));
    await waitForRounds([right], 1);
  });
});

describe("maintenance during a shutdown", () => {
  it("a file store that does not respond does not block the shutdown", async () => {
    const asked = Promise.withResolvers<void>();
    const sockets = new Set<Socket>();
    const store = createServer((socket) => {
      sockets.add(socket);
      socket.on("error", () => {}).once("data", () => asked.resolve());
    });
    await once(store.listen(0, "127.0.0.1"), "listening");
    const { port } = store.address() as AddressInfo; // a TCP listener has an address object
    const app = await startTestApp({
      FILES_URL: `s3://bucket?endpoint=http://127.0.0.1:${port}&region=test`,
      AWS_ACCESS_KEY_ID: "test",
      AWS_SECRET_ACCESS_KEY: "test",
    });
    const row = { application_id: app.application.appid, key: "key", loose_at: 0 }; // due for deletion
    await app.app.database.write(({ queries }) => queries.insertInto("loose_bytes").values(row).execute());
    app.app.background.run("a deletion", () => app.app.bytes.deleteAll("another/key/"));
    const { stop } = startMaintenance(app.app, 20);
    await asked.promise;
    const startedAt = performance.now();
    await stop();
    await app.close();
    assert.ok(performance.now() - startedAt < 10_000);
    store.close();
    for (const socket of sockets) socket.destroy();
  });
});
