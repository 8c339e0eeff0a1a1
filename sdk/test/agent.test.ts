import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { startTestApp, type TestApp } from "../../server/test/harness.ts";
import { testClient } from "./clients.ts";
import { importSources } from "./source-imports.ts";

const agent = path.resolve(import.meta.dirname, "../../examples/agent/agent.ts");
const fleet = { userName: "fleet", password: "correct horse" };

let test: TestApp;
let folder: string;
before(async () => {
  test = await startTestApp();
  folder = mkdtempSync(path.join(tmpdir(), "rollcall-agent-"));
  writeFileSync(path.join(folder, "agent.ts"), importSources(readFileSync(agent, "utf8")));
});
after(async () => {
  rmSync(folder, { recursive: true, force: true });
  await test.close();
});

async function runAgent(): Promise<string[]> {
  const { appid, appkey } = test.application;
  const env = {
    ROLLCALL_URL: test.url,
    ROLLCALL_APPID: appid,
    ROLLCALL_APPKEY: appkey,
    FLEET_USER: fleet.userName,
    FLEET_PASSWORD: fleet.password,
    STATE_FOLDER: path.join(folder, "state"),
  };
  const { stdout } = await promisify(execFile)(process.execPath, ["agent.ts", "--once"], { cwd: folder, env });
  return stdout.trim().split("\n");
}

describe("examples/agent", () => {
  it("reports as one device, and installs the firmware that the application names", async () => {
    const publisher = testClient(test);
    await publisher.signUp(fleet);
    assert.deepEqual(await runAgent(), ["reported"]);

    const bytes = new Blob([new Uint8Array(100_000).fill(7)]);
    const { id: blobId } = await publisher.blobs.create(bytes, { readPermissions: "App" });
    await publisher.metadata.ofApp().put("firmware", { version: "1.1.0", blobId });
    const [installed, reported] = await runAgent();
    assert.match(installed ?? "", /^installed firmware 1\.1\.0, 100000 bytes, SHA-256 [0-9a-f]{64}$/);
    assert.equal(reported, "reported");
    assert.deepEqual(readFileSync(path.join(folder, "state/firmware.bin")), Buffer.alloc(100_000, 7));
    assert.deepEqual(await runAgent(), ["reported"]);

    const { token } = await test.createOperator();
    const { body } = await test.call(`GET /_/api/applications/${test.application.appid}/devices`, { token });
    const agents = body.result.pageResults.filter(({ tag }: { tag?: string }) => tag === "agent");
    assert.equal(agents.length, 1);
  });
});
