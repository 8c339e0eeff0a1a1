// Runs on one engine: workers exchange their metrics without the database.
import assert from "node:assert/strict";
import { afterEach, describe, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { createTestDeployment } from "./deployments.ts";
import { send } from "./harness.ts";
import { killRunningServers, startProgram, workersOf } from "./running-server.ts";
import { scrape } from "./scrapes.ts";

const token = "a-token-for-scrapes";
const pings = 'rollcall_http_requests_total{operation="ping",method="GET",route="/service/ping",status="200"}';

describe("metrics of several WORKERS", { skip: process.platform !== "linux" && "looks into /proc" }, () => {
  afterEach(killRunningServers);

  test("are the same from every worker, on the port of the service and on the metrics port", async () => {
    const deployment = await createTestDeployment();
    const settings = { ...deployment.settings, WORKERS: "2", METRICS_TOKEN: token };
    try {
      for (const more of [{}, { METRICS_PORT: "0" }]) {
        const server = await startProgram({ ...settings, ...more });
        const ownPort = Number(/"metrics_port":(\d+)/.exec(server.output())?.[1]);
        const port = Number.isNaN(ownPort) ? server.port : ownPort;
        while ((await scrape(port, token)).get("rollcall_processes") !== 2) await setTimeout(20);
        for (let asked = 0; asked < 20; asked += 1) await send(server.port, "GET", "/service/ping");
        for (let asked = 0; asked < 4; asked += 1) {
          const scraped = await scrape(port, token);
          assert.equal(scraped.get(pings), 20);
          assert.equal(scraped.get("rollcall_processes"), 2);
        }
        assert.equal((await send(port, "GET", "/_/prometheus")).status, 401);
        assert.equal(await server.end("SIGTERM"), 0);
      }
    } finally {
      await deployment.remove();
    }
  });

  test("do not decrease when a worker dies, before and after its replacement starts", async () => {
    const deployment = await createTestDeployment();
    try {
      const server = await startProgram({ ...deployment.settings, WORKERS: "2", METRICS_TOKEN: token });
      const scraped = () => scrape(server.port, token);
      const processes = async () => (await scraped().catch(() => undefined))?.get("rollcall_processes");
      let sent = 0;
      for (let deaths = 0; deaths < 3; deaths += 1) {
        while ((await processes()) !== 2) await setTimeout(20);
        for (let asked = 0; asked < 20; asked += 1) await send(server.port, "GET", "/service/ping");
        sent += 20;
        const before = await scraped();
        assert.equal(before.get(pings), sent);
        const [victim = 0] = workersOf(server);
        process.kill(victim, "SIGKILL");
        for (let isWhole = false; !isWhole; ) {
          const after = await scraped().catch(() => undefined); // a connection to the dying worker is reset
          if (after === undefined) continue;
          for (const [series, value] of before) {
            if (!/^rollcall_http_\w+(?:_total|_bucket|_count|_sum)\b/.test(series)) continue;
            assert.ok((after.get(series) ?? 0) >= value, `${series} was ${value}, is ${after.get(series)}`);
          }
          assert.equal(after.get(pings), sent);
          isWhole = after.get("rollcall_processes") === 2 && !workersOf(server).includes(victim);
        }
      }
      assert.equal(await server.end("SIGTERM"), 0);
    } finally {
      await deployment.remove();
    }
  });
});
