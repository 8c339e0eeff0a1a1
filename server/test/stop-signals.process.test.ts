import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { after, afterEach, before, describe, it } from "node:test";
import { setTimeout } from "node:timers/promises";
import { findFreePort } from "../../testkit/free-port.ts";
import { createTestDeployment, type TestDeployment } from "./deployments.ts";
import { killRunningServers, outputOf, spawnProgram } from "./running-server.ts";

/** The server receives a signal while it starts. */

let deployment: TestDeployment;
before(async () => {
  deployment = await createTestDeployment();
});
afterEach(killRunningServers);
after(() => deployment.remove());

const certificates = join(import.meta.dirname, "certificates");
/** With these settings, the server handles SIGHUP, from right after it handles SIGTERM. */
const certificate = {
  TLS_CERT_FILE: join(certificates, "test-only-a.cert.pem"),
  TLS_KEY_FILE: join(certificates, "test-only-a.key.pem"),
};

function start(more: Readonly<Record<string, string>>, wrapper: readonly string[] = []) {
  const { child, exited } = spawnProgram({ ...deployment.settings, ...more }, { wrapper });
  return { child, exited, output: outputOf(child) };
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
}

describe("SIGTERM while the server starts", () => {
  it("shuts it down cleanly as soon as its port is taken", async () => {
    for (let starts = 0; starts < 4; starts += 1) {
      const port = await findFreePort();
      const { child, exited, output } = start({ PORT: `${port}`, METRICS_PORT: "0" });
      while (!(await isListening(port))) assert.equal(child.exitCode, null);
      child.kill("SIGTERM");
      assert.deepEqual(await exited, [0, null]);
      // The port is bound before anything else, so the server may or may not serve at this point.
      if (/"msg":"listening"/.test(output())) assert.match(output(), /"msg":"stopped"/);
    }
  });

  it("shuts it down cleanly as soon as it listens", async () => {
    for (let starts = 0; starts < 4; starts += 1) {
      const { child, exited, output } = start({ PORT: "0", METRICS_PORT: "0" });
      while (!/"msg":"listening"/.test(output())) {
        assert.equal(child.exitCode, null);
        await setTimeout(1);
      }
      child.kill("SIGTERM");
      assert.deepEqual(await exited, [0, null]);
      assert.match(output(), /"msg":"stopped"/);
    }
  });

  const asFirst = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child"];
  const canBeFirst = spawnSync(asFirst[0] ?? "", [...asFirst.slice(1), "true"]).status === 0;
  it("shuts down the first process of a container, too, before it listens", { skip: !canBeFirst }, async () => {
    const { child, exited, output } = start({ PORT: "0", ...certificate }, asFirst);
    const inner = () => Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8").trim());
    while (inner() === 0 || !catchesHangUp(inner())) await setTimeout(1);
    // Only one, because a second one could kill the process while it exits.
    process.kill(inner(), "SIGTERM");
    assert.deepEqual(await exited, [0, null]);
    assert.doesNotMatch(output(), /listening/);
  });
});

describe("SIGHUP while the server starts", { skip: process.platform !== "linux" && "looks into /proc" }, () => {
  it("does not stop a server with a certificate, which is read as usual", async () => {
    const port = await findFreePort();
    const dataDir = join(deployment.folder, "new");
    const { child, exited } = start({ PORT: `${port}`, DATA_DIR: dataDir, DATABASE_URL: "", ...certificate });
    while (!catchesHangUp(child.pid)) await setTimeout(1);
    assert.ok(!existsSync(dataDir), "the signal handler is installed too late");
    child.kill("SIGHUP");
    while (!(await isListening(port))) assert.deepEqual([child.exitCode, child.signalCode], [null, null]);
    child.kill("SIGTERM");
    assert.deepEqual(await exited, [0, null]);
  });
});

/** Before that, the signal kills the process. */
function catchesHangUp(pid: number | undefined): boolean {
  const [, caught = ""] = /^SigCgt:\s*(\w+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return /[13579bdf]$/.test(caught); // the first signal is the lowest bit
}

describe("the exit of the program that started the server", () => {
  it("shuts the server down cleanly if npm or npx has started it, because they forward no signal", async () => {
    const { child, exited, output } = start({ npm_command: "run-script" }, ["sh", "-c", '"$@" & wait', "sh"]);
    while (!/"msg":"listening"/.test(output())) {
      assert.equal(child.exitCode, null, output());
      await setTimeout(10);
    }
    const port = Number(/"url":"http:\/\/127\.0\.0\.1:(\d+)"/.exec(output())?.[1]);
    assert.ok(await isListening(port));
    child.kill("SIGKILL");
    await exited;
    while (!/"msg":"stopped"/.test(output())) await setTimeout(50);
    assert.equal(await isListening(port), false);
  });
});
