import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type Answer, assertError, assertResult, startTestApp, type TestApp } from "../../test/harness.ts";
import { startS3Server } from "../../test/s3-server.ts";
import { scrape } from "../../test/scrapes.ts";
import { passSteadyTime } from "../../test/steady-clock.ts";

const token = "a-token-for-scrapes";
const folder = mkdtempSync(join(tmpdir(), "rollcall-test-"));
after(() => rmSync(folder, { recursive: true, force: true }));

/** Returns the response of the probe once it has this status, or after two checks of the storage; the next one is due. */
async function readyWith(test: TestApp, status: number, degraded?: string): Promise<Answer> {
  passSteadyTime(5_000);
  for (const deadline = Date.now() + 60_000; ; ) {
    const answer = await test.call("GET /_/health/ready");
    const isExpected = answer.status === status && answer.headers["rollcall-degraded"] === degraded;
    if (isExpected || Date.now() > deadline) return answer;
    await sleep(100);
  }
}

// spec/transport#health
describe("GET /_/health/ready", () => {
  it("answers 503 with the cause while the bucket does not exist, and 200 when it is back", async (t) => {
    const directory = join(folder, "s3");
    const store = await startS3Server(directory);
    const test = await startTestApp({
      METRICS_TOKEN: token,
      FILES_URL: store.url,
      AWS_ACCESS_KEY_ID: store.keys.awsAccessKeyId,
      AWS_SECRET_ACCESS_KEY: store.keys.awsSecretAccessKey,
    });
    t.after(async () => {
      await test.close();
      await store.close();
    });
    assertResult(await test.call("GET /_/health/ready"), 200, "ready");
    renameSync(join(directory, "files"), join(directory, "gone"));
    const missing = await readyWith(test, 503);
    const message = "FILES_URL: the bucket does not exist (NoSuchBucket).";
    assertError(missing, 503, "ServiceUnavailable", 1284, message);
    assertResult(await test.call("GET /_/health/live"), 200, "live");
    assert.equal((await scrape(test.port, token)).get('rollcall_storage_problems{kind="files"}'), 1);
    renameSync(join(directory, "gone"), join(directory, "files"));
    assertResult(await readyWith(test, 200), 200, "ready");
    assert.equal((await scrape(test.port, token)).get('rollcall_storage_problems{kind="files"}'), 0);
    const logged = test.logLines.filter(({ msg }) => `${msg}`.startsWith("storage: "));
    const texts = logged.map(({ msg, problem }) => [msg, `${problem}`.replace(/ at http\S+/, "")]);
    const problem = 'FILES_URL: the bucket "files" does not exist (NoSuchBucket).';
    assert.deepEqual(texts, [
      ["storage: a problem was found", problem],
      ["storage: a problem is over", problem],
    ]);
  });

  it("answers 200 and reports files as degraded while the bucket is unreachable", async (t) => {
    const test = await startTestApp({
      FILES_URL: "s3://files?endpoint=http://127.0.0.1:1",
      AWS_ACCESS_KEY_ID: "key",
      AWS_SECRET_ACCESS_KEY: "secret",
    });
    t.after(test.close);
    assertResult(await readyWith(test, 200, "files"), 200, "ready");
    const answer = await test.call("GET /_/health/ready");
    assert.equal(answer.headers["rollcall-degraded"], "files");
  });

  it("creates no file in the folders that it checks", async (t) => {
    const test = await startTestApp();
    t.after(test.close);
    await Promise.all(Array.from({ length: 50 }, () => test.call("GET /_/health/ready")));
    const names = readdirSync(test.config.dataDir, { recursive: true }).map(String);
    assert.deepEqual(
      names.filter((name) => name.includes("write-check")),
      [],
    );
  });
});
