import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { createTestDatabase } from "./databases.ts";
import { send } from "./harness.ts";
import { killRunningServers, startProgram } from "./running-server.ts";
import { scrape } from "./scrapes.ts";

const token = "a-token-for-scrapes";
const pings = 'rollcall_http_requests_total{operation="ping",method="GET",route="/service/ping",status="200"}';

describe("WORKERS that are scraped", () => {
  afterEach(killRunningServers);

  test("tell as one, whichever of them is asked, on the port of the service and on one of their own", async () => {
    const folder = mkdtempSync(join(tmpdir(), "rollcall-test-"));
    const database = await createTestDatabase(folder);
    const settings = {
      DATA_DIR: folder,
      DATABASE_URL: database.url,
      ROLLCALL_SECRET: "a secret for tests",
      WORKERS: "2",
      METRICS_TOKEN: token,
    };
    try {
      for (const more of [{}, { METRICS_PORT: "0" }]) {
        const server = await startProgram({ ...settings, ...more });
        const ownPort = Number(/"metrics_port":(\d+)/.exec(server.output())?.[1]);
        const port = Number.isNaN(ownPort) ? server.port : ownPort;
        while ((await scrape(port, token)).get("rollcall_processes") !== 2) await setTimeout(20);
        for (let asked = 0; asked < 20; asked += 1) await send(server.port, "GET", "/service/ping");
        for (let asked = 0; asked < 4; asked += 1) {
          const told = await scrape(port, token);
          assert.equal(told.get(pings), 20);
          assert.equal(told.get("rollcall_processes"), 2);
        }
        assert.equal((await send(port, "GET", "/_/prometheus")).status, 401);
        assert.equal(await server.end("SIGTERM"), 0);
      }
    } finally {
      await database.drop();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
