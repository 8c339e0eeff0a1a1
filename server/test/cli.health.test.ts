import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startTestApp } from "./harness.ts";
import { waitUntil } from "./mails.ts";
import { runProgram } from "./running-server.ts";

describe("rollcall health", () => {
  it("names the failed dependencies of a degraded server", async (t) => {
    const test = await startTestApp({
      FILES_URL: "s3://files?endpoint=http://127.0.0.1:1",
      AWS_ACCESS_KEY_ID: "key",
      AWS_SECRET_ACCESS_KEY: "secret",
    });
    t.after(test.close);
    const readyHeaders = async () => (await test.call("GET /_/health/ready")).headers;
    await waitUntil(async () => (await readyHeaders())["rollcall-degraded"] === "files");
    const settings = { DATA_DIR: test.config.dataDir, PORT: `${test.port}` };
    const health = (...args: string[]) => runProgram("src/cli/cli.ts", ["health", ...args], settings);
    assert.deepEqual(await health(), { code: 0, stdout: "ready, but degraded: files\n", stderr: "" });
    assert.deepEqual(JSON.parse((await health("--json")).stdout), { state: "ready", degraded: ["files"] });
  });

  it("prints only ready if all checks succeed", async (t) => {
    const test = await startTestApp();
    t.after(test.close);
    const settings = { DATA_DIR: test.config.dataDir, PORT: `${test.port}` };
    assert.equal((await runProgram("src/cli/cli.ts", ["health"], settings)).stdout, "ready\n");
  });
});
