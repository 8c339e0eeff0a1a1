import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startTestApp, type TestApp } from "../../test/harness.ts";
import { readScrape } from "../../test/scrapes.ts";
import type { Snapshot } from "./samples.ts";
import { renderSnapshots, snapshotContentType } from "./snapshot.ts";

describe("the snapshots of several processes", () => {
  let first: TestApp;
  let second: TestApp;
  before(async () => {
    first = await startTestApp({ METRICS_TOKEN: "a-token-for-scrapes" });
    second = await startTestApp({ METRICS_TOKEN: "a-token-for-scrapes" });
  });
  after(async () => {
    await first.close();
    await second.close();
  });

  /** As it comes out of another process. */
  async function sentBy({ app }: TestApp): Promise<Snapshot> {
    return JSON.parse(JSON.stringify(await app.insight?.takeSnapshot()));
  }

  async function told(...snapshots: readonly Snapshot[]) {
    const text = await renderSnapshots(snapshots);
    return readScrape({ text, headers: { "content-type": snapshotContentType } });
  }

  test("are told as those of one: counters and histograms are added, and the longest is the longest of all", async () => {
    await first.call("GET /service/ping");
    await first.call("GET /service/ping");
    await second.call("GET /service/ping");
    await second.call("GET /service/nothing");
    const [one, other] = [await sentBy(first), await sentBy(second)];
    const [ofOne, ofOther, ofBoth] = [await told(one), await told(other), await told(one, other)];
    const ping = 'operation="ping",method="GET",route="/service/ping",status="200"';
    assert.equal(ofBoth.get(`rollcall_http_requests_total{${ping}}`), 3);
    assert.equal(ofBoth.get('rollcall_http_requests_total{operation="(unknown)",status="404"}'), 1);
    assert.equal(ofBoth.get('rollcall_http_request_duration_seconds_count{operation="ping"}'), 3);
    assert.equal(ofBoth.get(`rollcall_build_info{version="0.1.0",node="${process.version}"}`), 1);
    for (const [series, value] of ofBoth) {
      if (!/^rollcall_\w+_(?:total|bucket|sum|count)\b/.test(series)) continue;
      const sum = (ofOne.get(series) ?? 0) + (ofOther.get(series) ?? 0);
      assert.ok(Math.abs(value - sum) < 1e-9, `${series}: ${value} is not ${sum}`);
    }
    const began = "process_start_time_seconds";
    assert.equal(ofBoth.get(began), Math.min(ofOne.get(began) ?? 0, ofOther.get(began) ?? 0));
  });

  test("come to the same in whichever order they come, to the last digit: a sum that is less would be a restart", async () => {
    const snapshots: Snapshot[] = [];
    for (let count = 0; count < 5; count += 1) {
      await first.call("GET /service/ping");
      snapshots.push(await sentBy(first));
    }
    const [sums, reversed] = [await told(...snapshots), await told(...snapshots.reverse())];
    for (const [series, value] of sums) {
      if (/_(?:total|sum)\b/.test(series)) assert.equal(reversed.get(series), value, series);
    }
  });

  test("hold what one alone does, and nothing of it is lost in between", async () => {
    const snapshot = (await first.app.insight?.takeSnapshot()) ?? [];
    assert.deepEqual(
      [...(await told(snapshot)).keys()],
      [...(await told(JSON.parse(JSON.stringify(snapshot)))).keys()],
    );
  });
});
