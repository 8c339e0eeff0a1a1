// Runs on one engine: what waits to be written is in memory.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startTestApp, type TestApp } from "../../test/harness.ts";
import { createOtherStatistics } from "../../test/statistics-process.ts";
import { ApiError } from "../lib/errors.ts";
import { readStatistics } from "./statistics.reading.ts";
import { type Statistics, startStatistics } from "./statistics.ts";

const minute = 60_000;

let test: TestApp;
before(async () => {
  test = await startTestApp();
});
after(() => test.close());

const call = {
  ...{ requestId: "", at: 0, method: "GET", path: "/service/ping", address: "" },
  ...{ operation: "ping", ms: 1, caller: undefined },
};

function count(statistics: Statistics, applicationId: string, message?: string): void {
  const failure = message === undefined ? undefined : new ApiError("ParameterOutOfRange", message);
  const status = failure === undefined ? 200 : 400;
  statistics.count({ ...call, applicationId, status, failure });
}

async function listCalls(appid: string, from: number): Promise<number[]> {
  const { clock, database } = test.app;
  const parameters = { from, to: clock.now() + 1, series: "calls" };
  const { series } = await readStatistics(appid, parameters, clock.now(), database.reads);
  const [succeeded, , refused] = series.map(({ points }) => points.map(({ value }) => value));
  return (succeeded ?? []).map((value, index) => value + (refused?.[index] ?? 0));
}

describe("unsaved counts of a process", () => {
  // spec/statistics#loss-and-delay
  it("wait while the database is unavailable, and are written minute by minute when it is available again", async () => {
    const { appid } = await test.createApplication();
    const { statistics, goAway } = createOtherStatistics(test);
    const from = test.now();
    goAway(true);
    for (const calls of [3, 2, 1]) {
      for (let n = 0; n < calls; n += 1) count(statistics, appid);
      await statistics.save();
      test.advance(minute);
    }
    assert.deepEqual(await listCalls(appid, from), [0, 0, 0, 0]);
    goAway(false);
    await statistics.save();
    await statistics.save(); // writes nothing twice
    assert.deepEqual(await listCalls(appid, from), [3, 2, 1, 0]);
  });

  // spec/statistics#loss-and-delay
  it("occupy at most 16 MiB while the database is unavailable, and the oldest minutes are dropped first", async () => {
    const { appid } = await test.createApplication();
    const { statistics, goAway } = createOtherStatistics(test);
    const from = test.now();
    goAway(true);
    const minutes = 900;
    for (let n = 0; n < minutes; n += 1) {
      for (let kind = 0; kind < 50; kind += 1) count(statistics, appid, `${kind} ${"x".repeat(200)}`);
      await statistics.save();
      test.advance(minute);
    }
    goAway(false);
    await statistics.save();
    const calls = await listCalls(appid, from);
    const kept = calls.filter((each) => each === 50).length;
    const first = calls.indexOf(50);
    assert.ok(first > 0, "the oldest were dropped");
    assert.equal(kept, minutes - first, "no later one was dropped");
    assert.ok((await bytesOf(appid)) <= 16 * 2 ** 20);
  });

  // spec/statistics#loss-and-delay
  it("are lost when the process is killed, and no others", async () => {
    const { appid } = await test.createApplication();
    const from = test.now();
    const { statistics } = createOtherStatistics(test);
    for (let n = 0; n < 5; n += 1) count(statistics, appid);
    await statistics.save();
    test.advance(minute);
    count(statistics, appid); // then the process is killed
    const next = createOtherStatistics(test);
    count(next.statistics, appid);
    count(next.statistics, appid);
    await next.statistics.save();
    assert.deepEqual(await listCalls(appid, from), [5, 2]);
  });

  // spec/statistics#loss-and-delay
  it("are saved at the end of each minute", (t) => {
    t.mock.timers.enable({ apis: ["setTimeout", "Date"], now: 20_000 });
    let saves = 0;
    async function save(): Promise<void> {
      saves += 1;
    }
    const statistics = { ...createOtherStatistics(test).statistics, save };
    const { stop } = startStatistics({ statistics, clock: { now: () => Date.now() } });
    for (const [ms, expected] of [
      [39_999, 0],
      [1, 1],
      [59_999, 1],
      [1, 2],
    ] as const) {
      t.mock.timers.tick(ms);
      assert.equal(saves, expected);
    }
    stop();
    t.mock.timers.tick(10 * minute);
    assert.equal(saves, 2);
  });
});

/** Returns the bytes of the rows of an application, and as many for its part of the deployment. */
async function bytesOf(appid: string): Promise<number> {
  const { reads } = test.app.database;
  const rows = await reads.selectFrom("statistics").select("data").where("application_id", "=", appid).execute();
  return 2 * rows.reduce((sum, { data }) => sum + data.length, 0);
}
