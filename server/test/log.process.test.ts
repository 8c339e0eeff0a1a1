// Runs on one engine: it tests the log, which no statement writes.
import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { after, afterEach, before, describe, it } from "node:test";
import { findFreePort } from "../../testkit/free-port.ts";
import { createTestDeployment, type TestDeployment } from "./deployments.ts";
import { send } from "./harness.ts";
import { killRunningServers, spawnProgram } from "./running-server.ts";

/** Starts the server with a standard output that accepts no writes. */

let deployment: TestDeployment;
before(async () => {
  deployment = await createTestDeployment();
});
afterEach(killRunningServers);
after(() => deployment.remove());

/** Resolves when the server responds. */
async function start(stdout: "pipe" | number, onSpawn: (child: ChildProcess) => void = () => {}) {
  const port = await findFreePort();
  const { child, exited } = spawnProgram({ ...deployment.settings, PORT: `${port}` }, { stdout });
  onSpawn(child);
  const until = Date.now() + 60_000;
  const isServed = () => send(port, "GET", "/_/health/ready").then(isOk, () => false);
  while (!(await isServed())) {
    assert.ok(Date.now() < until && child.exitCode === null, "the server does not start");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return { port, child, exited };
}

function isOk({ status }: { readonly status: number }): boolean {
  return status === 200;
}

describe("a log that cannot be written does not prevent serving, or a shutdown", () => {
  it("because its reader has closed before the first start prints its credentials", async () => {
    const { child, exited } = await start("pipe", ({ stdout }) => stdout?.destroy());
    child.kill("SIGTERM");
    assert.deepEqual(await exited, [0, null]);
  });

  it("because the disk is full", { skip: process.platform !== "linux" && "needs /dev/full" }, async () => {
    const full = openSync("/dev/full", "w");
    const { port, child, exited } = await start(full, () => closeSync(full));
    for (let calls = 0; calls < 100; calls += 1) assert.ok(isOk(await send(port, "GET", "/service/ping")));
    child.kill("SIGTERM");
    assert.deepEqual(await exited, [0, null]);
  });

  it("because its reader has stopped", { timeout: 60_000 }, async () => {
    const { port, child, exited } = await start("pipe");
    const path = `/${"x".repeat(8_000)}`; // a log line of more than 8 KB
    for (let calls = 0; calls < 200; calls += 1) assert.equal((await send(port, "GET", path)).status, 404);
    child.kill("SIGTERM");
    assert.deepEqual(await exited, [0, null]);
  });
});
