// Runs on one engine: the queues of pictures are in memory.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startTestApp, type TestApp } from "../../test/harness.ts";
import { dataPart, download, png, upload } from "../../test/uploads.ts";

// spec/files#picture-queue
describe("a flood of requests for scaled sizes through a signedUrl", () => {
  let test: TestApp;
  before(async () => {
    test = await startTestApp();
  });
  after(() => test.close());

  /** Repeats 40 concurrent requests for sizes that are not stored, until it is stopped. */
  function flood(signedUrl: string) {
    let isStopped = false;
    let size = 1_001;
    const statuses: number[] = [];
    const gone = new AbortController();
    const callers = Array.from({ length: 40 }, async () => {
      while (!isStopped) {
        size += 2;
        const answer = await fetch(`${signedUrl}&size=${size}`, { signal: gone.signal }).catch(() => undefined);
        await answer?.arrayBuffer().catch(() => {});
        statuses.push(answer?.status ?? 0);
      }
    });
    return {
      statuses,
      async stop() {
        isStopped = true;
        gone.abort();
        await Promise.all(callers);
      },
    };
  }

  it("refuses no upload of another application, and no upload or thumbnail of a caller with a token", async () => {
    const owner = await test.signUp();
    const other = await test.signUp();
    const stranger = await test.signUp("stranger", await test.createApplication());
    const large = await upload(test, owner.token, "/pictures", dataPart(await png(3_000, 3_000)));
    const small = dataPart(await png(60, 40));
    const own = await upload(test, other.token, "/pictures", small);
    const attack = flood(large.signedUrl);
    while (attack.statuses.length < 40) await new Promise((resolve) => setTimeout(resolve, 20));

    for (let n = 0; n < 4; n++) {
      await Promise.all(
        [stranger, other].flatMap(({ token }) => [
          upload(test, token, "/pictures", small),
          upload(test, token, "/pictures", small),
        ]),
      ); // asserts 201
    }
    const thumbnail = await download(test, `/pictures/${own.id}/file?size=17`, { token: other.token });
    assert.equal(thumbnail.status, 200);

    const { link, upload: uploads, read } = test.app.pictures.statistics();
    assert.ok(link.refused > 0, "the flood was not limited");
    assert.deepEqual([uploads.refused, read.refused], [0, 0]);
    await attack.stop();
    assert.ok(
      attack.statuses.every((status) => [0, 200, 503].includes(status)),
      attack.statuses.join(),
    );
    const deadline = Date.now() + 60_000;
    while (test.app.pictures.statistics().link.waiting > 0) {
      assert.ok(Date.now() < deadline, "requests of clients that left are still waiting");
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    assert.ok(test.app.pictures.statistics().link.abandoned > 0);
  });
});
