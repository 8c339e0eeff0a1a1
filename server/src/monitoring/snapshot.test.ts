import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startTestApp, type TestApp } from "../../test/harness.ts";
import { readScrape } from "../../test/scrapes.ts";
import { build } from "../config/version.ts";
import type { Snapshot } from "./samples.ts";
import { renderSnapshots, snapshotContentType } from "./snapshot.ts";

// spec/deployment#metric-series
describe("the combined snapshots of several processes", () => {
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

  /** Passes a snapshot through JSON, as between processes. */
  async function sentBy({ app }: TestApp): Promise<Snapshot> {
    return JSON.parse(JSON.stringify(await app.insight?.takeSnapshot()));
  }

  async function combine(...snapshots: readonly Snapshot[]) {
    const text = await renderSnapshots(snapshots);
    return readScrape({ text, headers: { "content-type": snapshotContentType } });
  }

  test("add up counters and histograms, and keep the maximum of the longest durations", async () => {
    await first.call("GET /service/ping");
    await first.call("GET /service/ping");
    await second.call("GET /service/ping");
    await second.call("GET /service/nothing");
    const [one, other] = [await sentBy(first), await sentBy(second)];
    const [ofOne, ofOther, ofBoth] = [await combine(one), await combine(other), await combine(one, other)];
    const ping = 'operation="ping",method="GET",route="/service/ping",status="200"';
    assert.equal(ofBoth.get(`rollcall_http_requests_total{${ping}}`), 3);
    assert.equal(ofBoth.get('rollcall_http_requests_total{operation="(unknown)",status="404"}'), 1);
    assert.equal(ofBoth.get('rollcall_http_request_duration_seconds_count{operation="ping"}'), 3);
    assert.equal(ofBoth.get(`rollcall_build_info{version="${build}",node="${process.version}"}`), 1);
    for (const [series, value] of ofBoth) {
      if (!/^rollcall_\w+_(?:total|bucket|sum|count)\b/.test(series)) continue;
      const sum = (ofOne.get(series) ?? 0) + (ofOther.get(series) ?? 0);
      assert.ok(Math.abs(value - sum) < 1e-9, `${series}: ${value} is not ${sum}`);
    }
    const began = "process_start_time_seconds";
    assert.equal(ofBoth.get(began), Math.min(ofOne.get(began) ?? 0, ofOther.get(began) ?? 0));
  });

  test("are identical to the last digit in any order, because a smaller sum would look like a restart", async () => {
    const snapshots: Snapshot[] = [];
    for (let count = 0; count < 5; count += 1) {
      await first.call("GET /service/ping");
      snapshots.push(await sentBy(first));
    }
    const [sums, reversed] = [await combine(...snapshots), await combine(...snapshots.reverse())];
    for (const [series, value] of sums) {
      if (/_(?:total|sum)\b/.test(series)) assert.equal(reversed.get(series), value, series);
    }
  });

  test("have the same series as one process, and lose nothing in transit", async () => {
    const snapshot = (await first.app.insight?.takeSnapshot()) ?? [];
    assert.deepEqual(
      [...(await combine(snapshot)).keys()],
      [...(await combine(JSON.parse(JSON.stringify(snapshot)))).keys()],
    );
  });
});
